/** Looks at what there is. Runs as a Temporal activity worker; also keeps the archive, which it fills from events. */
import { ReachAgent } from '../../src/sdk/agent';
import { pause, quiet, ticketOf, weighIn, type Meeting, type Notice } from './desk';

export function evidenceAgent(
  gateway: string,
  { notice, archive, both }: { notice: Notice; archive: string[]; both: Meeting },
): ReachAgent {
  return new ReachAgent({
    descriptor: {
      name: 'evidence_agent',
      version: '1.0.0',
      accepted_message_types: ['task', 'event'],
      capabilities: [
        { name: 'collect_evidence', description: 'Looks at photos and delivery records of a complaint.' },
        { name: 'check_facts', description: 'Holds a draft against what was found out.' },
        { name: 'archive_case', description: 'Keeps closed cases.' },
      ],
      endpoint: { protocol: 'worker', timeout_ms: 60_000 },
    },
    gateway,
    handlers: {
      collect_evidence: async (payload, call) => {
        call.signal.addEventListener('abort', () => notice('evidence_agent stops: its reach was cancelled'), {
          once: true,
        });
        notice('evidence_agent looks at the photos');
        await pause(Number(payload.evidence_takes_ms ?? 300), call.signal);
        await ticketOf(call).append('findings', 'the photo shows a broken cup in an unbroken box');
        notice(`evidence_agent weighs in for the customer, after ${await weighIn(call, 0.7, both)} read(s)`);
        return { found: 1 };
      },
      check_facts: async (_, call) => {
        const { fields } = await ticketOf(call).get({ fields: ['findings'] });
        return { holds: (fields.findings?.value as string[]).length >= 3 };
      },
      archive_case: (payload) => {
        archive.push(String(payload.ticket_id));
        notice(`evidence_agent archives case ${String(payload.ticket_id)}`);
        return { archived: true };
      },
    },
    log: quiet,
  });
}
