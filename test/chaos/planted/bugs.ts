import type { KeyRule } from '../checker/exactly-once';
import type { Rule } from '../checker/facts';

/** A bug that is planted into the processes of the real product, by a program that they load before their own. */
export interface PlantedBug {
  name: string;
  /** The program, beside this file, and which processes load it. */
  preload: string;
  root: 'gateway' | 'worker';
  /** The row that has to see it, and how much of it is run: the least in which the bug must bite. */
  row: number;
  scale: number;
  /** Any of these is what the checker has to find. */
  rules: readonly (Rule | KeyRule)[];
}

/** Each breaks one promise, in one method of a compiled module. */
export const PLANTED_BUGS: readonly PlantedBug[] = [
  {
    name: 'the worker answers for the agent, before the work',
    preload: 'answers-before-work.js',
    root: 'worker',
    row: 21,
    scale: 0.3,
    rules: ['acknowledged_before_work', 'result_never_produced'],
  },
  {
    name: 'a call that lost its worker is not counted',
    preload: 'forgets-lost-attempts.js',
    root: 'worker',
    row: 1,
    scale: 0.6,
    rules: ['sent_again', 'attempt_not_recorded'],
  },
  {
    name: 'GET says running for ever',
    preload: 'get-never-ends.js',
    root: 'gateway',
    row: 21,
    scale: 0.3,
    rules: ['channel_silent'],
  },
  {
    name: 'a redrive resets twice',
    preload: 'resets-twice.js',
    root: 'gateway',
    row: 22,
    scale: 0.5,
    rules: ['too_many_runs'],
  },
  {
    name: 'a retry carries the fence of the first attempt',
    preload: 'repeats-the-fence.js',
    root: 'worker',
    row: 17,
    scale: 0.5,
    rules: ['fence_order'],
  },
  {
    name: 'each worker gives places without a limit',
    preload: 'gives-every-place.js',
    root: 'worker',
    row: 26,
    scale: 0.6,
    rules: ['permits_exceeded'],
  },
  {
    name: 'a late result replaces the record of its key',
    preload: 'replaces-the-record.js',
    root: 'gateway',
    row: 27,
    scale: 0.6,
    rules: ['stale_record', 'record_changed', 'results_differ'],
  },
  {
    name: 'a key goes to the smaller fence',
    preload: 'prefers-the-older.js',
    root: 'gateway',
    row: 27,
    scale: 0.6,
    rules: ['claim_denied', 'claim_order'],
  },
];
