import type { DeduplicationBeginAnswer, DeduplicationCompleteAnswer } from '../../protocol/deduplication';
import type { JsonObject } from '../../protocol/shapes';

/** What is kept under a business key: the greatest fence that claimed or recorded, and the result once there is one. */
export interface DeduplicationRecord {
  /** 19 digits, compared as text. */
  fence: string;
  output: JsonObject | null;
}

/** An answer, and what has to be written for it to be true. */
export interface Verdict<Answer> {
  answer: Answer;
  write?: DeduplicationRecord;
}

/**
 * A delivery begins (R7): what was recorded is its result; else the key goes to the greater fence (R4; Kleppmann, "How to do
 * distributed locking", 2016). The same fence again is the same attempt, delivered twice.
 */
export function onBegin(found: DeduplicationRecord | null, fence: string): Verdict<DeduplicationBeginAnswer> {
  if (found?.output) return { answer: { status: 'done', output: found.output } };
  if (found && found.fence > fence) return { answer: { status: 'superseded' } };
  if (found?.fence === fence) return { answer: { status: 'free' } };
  return { answer: { status: 'free' }, write: { fence, output: null } };
}

/**
 * A delivery succeeded: its output becomes the result unless there is one, or a greater fence is at work. Saying the same
 * again is no conflict: the first answer may have been lost.
 */
export function onComplete(
  found: DeduplicationRecord | null,
  mine: { fence: string; output: JsonObject },
): Verdict<DeduplicationCompleteAnswer> {
  if (found?.output) {
    const same = JSON.stringify(found.output) === JSON.stringify(mine.output);
    return { answer: same ? { status: 'recorded' } : { status: 'superseded', output: found.output } };
  }
  if (found && found.fence > mine.fence) return { answer: { status: 'superseded', output: null } };
  return { answer: { status: 'recorded' }, write: { fence: mine.fence, output: mine.output } };
}
