import { Option, type Command } from 'commander';
import type { DeadLetterFilter } from '../../sdk/dead-letters';
import { parseSince } from '../parse';

const STATUSES = ['dead_lettered', 'expired', 'outcome_unknown'];

/** Adds an option for each field of the filter. */
export function addFilterOptions(command: Command): Command {
  return command
    .addOption(new Option('--status <status>', 'only these').choices(STATUSES))
    .option('--code <code>', 'only with this error code, such as agent_unavailable')
    .option('--ability <name>', 'only for this ability')
    .option('--agent <name[#version]>', 'only those of this agent')
    .option('--source <agent>', 'only from this sender')
    .option('--since <time>', 'failed since: ISO time, or how long ago such as 2h', (text) => parseSince(text))
    .option('--until <time>', 'failed before: ISO time, or how long ago', (text) => parseSince(text));
}

/** The filter that the options describe; what was not given is left out. */
export function filterOf(options: DeadLetterFilter): DeadLetterFilter {
  const { status, code, ability, agent, source, since, until } = options;
  const fields = { status, code, ability, agent, source, since, until };
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as DeadLetterFilter;
}
