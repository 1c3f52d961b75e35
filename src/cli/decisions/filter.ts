import type { Command } from 'commander';
import type { DecisionFilter } from '../../sdk/decisions';
import { parseSince } from '../parse';

/** Adds an option for each field of the filter. */
export function addFilterOptions(command: Command): Command {
  return command
    .option('--agent <name[#version]>', 'that chose this agent')
    .option('--ability <name>', 'for this ability')
    .option('--reason <text>', 'with this diagnosis, such as breaker_open, or with these words in the reason')
    .option('--reach <id>', 'that this reach took')
    .option('--code <code>', 'that were refused with this error code')
    .option('--since <time>', 'made since: ISO time, or how long ago such as 2h', (text) => parseSince(text))
    .option('--until <time>', 'made before: ISO time, or how long ago', (text) => parseSince(text));
}

/** The filter that the options describe; what was not given is left out. */
export function filterOf(options: DecisionFilter): DecisionFilter {
  const { agent, ability, reason, reach, code, since, until } = options;
  const fields = { agent, ability, reason, reach, code, since, until };
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as DecisionFilter;
}
