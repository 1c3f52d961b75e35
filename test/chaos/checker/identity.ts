/** I2: one workflow and one recorded result per key, and the same key on every attempt. */
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
