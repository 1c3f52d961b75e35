import { parseArgs } from 'node:util';

/** What was asked for on the command line. */
export interface Options {
  /** A file of a public intent set; absent: the built-in sets. */
  set?: string;
  perLabel: number;
  sample?: number;
  seed: number;
  out?: string;
  url?: string;
  model?: string;
  cacheFile?: string;
  json: boolean;
  /** Measure how fast decisions are instead of how good. */
  speed: boolean;
}

export const USAGE = `usage: npm run bench:routing -- [options]
  --set FILE            an intent set, {"train": [["text", "label"], …], "test": …, "oos_test": …}; default: the built-in sets
  --per-label N         examples of each label, drawn from "train" (default 5)
  --sample N            score a seeded sample of N queries (default: all)
  --seed S              what is drawn (default 1)
  --out FILE            where the figures go (default bench/results/routing.json)
  --embeddings-url URL  an OpenAI-compatible endpoint (default: the embedded server)
  --model NAME          its model
  --vector-cache FILE   where vectors are kept between runs
  --json                print the figures as JSON
  --speed               measure how long a decision takes instead`;

/** That the command line cannot be understood. */
export class UsageError extends Error {
  override readonly name = 'UsageError';
}

/** @throws UsageError */
export function readOptions(args: readonly string[]): Options {
  const values = parse(args);
  const options = {
    perLabel: wholeNumber('--per-label', values['per-label'], 0) ?? 5,
    sample: wholeNumber('--sample', values.sample, 1),
    seed: wholeNumber('--seed', values.seed, 0) ?? 1,
  };
  return {
    ...options,
    set: values.set,
    out: values.out,
    url: values['embeddings-url'],
    model: values.model,
    cacheFile: values['vector-cache'],
    json: values.json,
    speed: values.speed,
  };
}

function parse(args: readonly string[]) {
  const text = { type: 'string' } as const;
  const flag = { type: 'boolean', default: false } as const;
  try {
    const options = {
      set: text,
      'per-label': text,
      sample: text,
      seed: text,
      out: text,
      'embeddings-url': text,
      model: text,
      'vector-cache': text,
      json: flag,
      speed: flag,
    };
    return parseArgs({ args: [...args], options }).values;
  } catch (error) {
    throw new UsageError((error as Error).message);
  }
}

function wholeNumber(name: string, value: string | undefined, least: number): number | undefined {
  if (value === undefined) return undefined;
  const number = Number(value);
  if (!/^\d+$/.test(value) || !Number.isSafeInteger(number) || number < least) {
    throw new UsageError(`${name} must be a whole number of at least ${least}, not ${JSON.stringify(value)}`);
  }
  return number;
}
