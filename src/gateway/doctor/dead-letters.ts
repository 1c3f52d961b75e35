import { fine, notChecked, type Finding } from '../../protocol/doctor';

/** Dead letters that retention takes soon. */
export interface ExpiringLetters {
  /** In any order. */
  letters: readonly { reach_id: string; expires_at: string }[];
  /** The list was not read to its end: there may be more, and older ones. */
  more: boolean;
  /** `dead_letters.alert_before`. */
  beforeMs: number;
}

/** Dead letters that are about to be lost (R31). Pure. */
export function judgeDeadLetters({ letters, more, beforeMs }: ExpiringLetters): Finding[] {
  const id = 'dead-letters.expiring';
  const [first] = letters.toSorted((a, b) => a.expires_at.localeCompare(b.expires_at));
  const hours = Number((beforeMs / 3_600_000).toFixed(1));
  if (!first && more) return [notChecked(id, 'there are more failed runs than could be looked through in time')];
  if (!first) return fine(id, `none expires within ${hours} h`);
  return [
    {
      id,
      severity: 'warning',
      subject: first.reach_id,
      measured: `${letters.length}${more ? ' or more' : ''} expire within ${hours} h, the first${more ? ' of those seen' : ''} at ${first.expires_at}`,
      why: 'retention removes them with their payloads, and what they were for is never done',
      fix: 'redrive them once their cause is mended, discard them, or raise the retention of the namespace',
      command: `agent-reach dead-letters show ${first.reach_id}`,
    },
  ];
}
