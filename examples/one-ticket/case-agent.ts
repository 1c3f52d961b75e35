/** Leads a ticket: has two inquiries made side by side, has a letter written, and tells everybody when it is closed. */
import type { AgentReachClient } from '../../src/sdk/client';
import { ReachAgent } from '../../src/sdk/agent';
import { quiet, ticketOf, type Notice } from './desk';

/** @param reach for events, which belong to no call */
export function caseAgent(gateway: string, { reach, notice }: { reach: AgentReachClient; notice: Notice }): ReachAgent {
  return new ReachAgent({
    descriptor: {
      name: 'case_agent',
      version: '1.0.0',
      capabilities: [
        {
          name: 'close_case',
          description: 'Takes a complaint from the first look to the letter that answers it.',
          input_schema: { type: 'object', required: ['ticket_id', 'complaint'] },
        },
      ],
      // It waits for others most of the time: "accepted" at once, the result when it is there.
      endpoint: { protocol: 'http', timeout_ms: 5_000, ack_timeout_ms: 4_000 },
    },
    gateway,
    http: { acceptAfterMs: 200 },
    handlers: {
      close_case: async (payload, call) => {
        call.signal.addEventListener('abort', () => notice('case_agent stops: its reach is over'), { once: true });
        await ticketOf(call).append('findings', 'the case was opened');
        const inquiries = ['collect_evidence', 'find_precedents'];
        notice(`case_agent asks for ${inquiries.join(' and ')}, both at once`);
        await Promise.all(inquiries.map((ability) => call.reach.invokeAbility(ability, payload)));
        const { output } = await call.reach.invokeAbility('write_letter', payload);
        const event = { ticket_id: payload.ticket_id ?? null, letter: output.letter ?? null };
        const { matched } = await reach.publish('cases.closed', event, { source: '/case_agent', type: 'case.closed' });
        notice(`case_agent publishes case.closed: ${matched} subscribers`);
        return { answer: output.letter ?? '' };
      },
    },
    log: quiet,
  });
}
