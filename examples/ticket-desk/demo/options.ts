import { parseArgs } from 'node:util';

/** What `npm run demo -- …` was asked for. */
export interface DemoOptions {
  /** JSON Lines of tickets; default: those beside the demo. */
  ticketsFile: string | undefined;
  /** Reaches at a time. Default 4. */
  concurrency: number;
  /** Stay up after the table until Ctrl-C. */
  keep: boolean;
  /** One JSON document on standard output in place of the table. */
  json: boolean;
}

export const USAGE = `usage: npm run demo -- [options]

Starts Agent-Reach with four agents, dispatches customer tickets to them and stops again.

  --tickets FILE     JSON Lines of {id, lang, text, agent?, has_photo?, user_tone?}
  --concurrency N    tickets at a time (4)
  --keep             stay up afterwards, for curl and the CLI, until Ctrl-C
  --json             one JSON document instead of the table

Exits with 0, or 1 if a reach failed.
`;

/** Throws with what is wrong about the arguments; null for `--help`. */
export function readOptions(args: string[]): DemoOptions | null {
  const { values } = parseArgs({
    args,
    options: {
      tickets: { type: 'string' },
      concurrency: { type: 'string', default: '4' },
      keep: { type: 'boolean', default: false },
      json: { type: 'boolean', default: false },
      help: { type: 'boolean', short: 'h', default: false },
    },
  });
  if (values.help) return null;
  if (!/^[1-9]\d?$/.test(values.concurrency)) throw new Error('--concurrency takes a number from 1 to 99');
  return { ticketsFile: values.tickets, concurrency: Number(values.concurrency), keep: values.keep, json: values.json };
}
