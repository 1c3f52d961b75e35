/** I2: one workflow and one recorded result per key, and the same key and payload on every attempt. */
import type { Violation } from './facts';
import { grouped, type Index } from './index-of';

/** Keys that more than one reach answers to. */
export function sharedKeys({ recording }: Index): Violation[] {
  const known = [...recording.receipts, ...recording.runs];
  return [...grouped(known, ({ key }) => key)].flatMap(([key, items]): Violation[] => {
    const ids = [...new Set(items.map(({ reach_id }) => reach_id))];
    if (ids.length < 2) return [];
    const message = `key ${key} names ${ids.length} reaches: ${ids.join(', ')}`;
    return [{ rule: 'two_reaches_of_one_key', reach_id: ids[1]!, message }];
  });
}

/** Reaches with more runs than were asked for, with two results, or started with two different envelopes. */
export function surplusRuns({ recording }: Index): Violation[] {
  return [...grouped(recording.runs, ({ reach_id }) => reach_id)].flatMap(([reach_id, runs]): Violation[] => {
    const asked = recording.redrives_asked[reach_id] ?? 0;
    const found: Violation[] = [];
    if (runs.length > 1 + asked) {
      const message = `${runs.length} runs, where ${1 + asked} were asked for (${asked} redrives)`;
      found.push({ rule: 'too_many_runs', reach_id, message });
    }
    const completed = runs.filter(({ status }) => status === 'completed').length;
    if (completed > 1) found.push({ rule: 'two_results', reach_id, message: `${completed} runs recorded a result` });
    if (new Set(runs.map(({ fingerprint }) => fingerprint)).size > 1) {
      found.push({ rule: 'fingerprint_changed', reach_id, message: 'its runs were started with different envelopes' });
    }
    return found;
  });
}

/** Attempts that reached an agent under another key than the reach's. */
export function changedKeys({ recording, lastRun }: Index): Violation[] {
  return recording.journal.flatMap(({ reach_id, key, agent, attempt }): Violation[] => {
    const expected = lastRun(reach_id)?.key;
    if (expected === undefined || expected === key) return [];
    const message = `${agent} saw attempt ${attempt} under key ${key}, the reach has ${expected}`;
    return [{ rule: 'key_changed', reach_id, message }];
  });
}

/** Payloads that are not the caller's: in the history, or at an agent. */
export function changedPayloads({ recording: { receipts, runs, journal } }: Index): Violation[] {
  const sent = new Map(receipts.map(({ reach_id, tag }) => [reach_id, tag]));
  for (const { reach_id, tag } of runs) if (tag !== null && !sent.has(reach_id)) sent.set(reach_id, tag);
  const seen = [
    ...receipts.map((receipt) => ({ ...receipt, by: 'another caller sent' })),
    ...runs.map((run) => ({ ...run, by: 'its run was started with' })),
    ...journal.map((entry) => ({ ...entry, by: `${entry.agent} was given, as attempt ${entry.attempt},` })),
  ];
  return seen.flatMap(({ reach_id, tag, by }): Violation[] => {
    const expected = sent.get(reach_id);
    if (tag === null || expected === undefined || tag === expected) return [];
    return [{ rule: 'payload_changed', reach_id, message: `${by} payload ${tag}, the caller sent ${expected}` }];
  });
}

/** Keys of which two answers, or none without a reason, claim to be the first (`replayed`). */
export function untrueRepeats({ recording: { receipts, doubtful_keys } }: Index): Violation[] {
  const doubtful = new Set(doubtful_keys);
  return [...grouped(receipts, ({ key }) => key)].flatMap(([key, answers]): Violation[] => {
    const first = answers.filter(({ replayed }) => !replayed).length;
    if (first === 1 || (first === 0 && doubtful.has(key))) return [];
    const message =
      first === 0
        ? `every answer for key ${key} is called a repeat, and no earlier try was left without an answer`
        : `${first} of ${answers.length} answers for key ${key} say that they are no repeat`;
    return [{ rule: 'replayed_untrue', reach_id: answers[0]!.reach_id, message }];
  });
}
