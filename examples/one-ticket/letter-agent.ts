/** Knows how such cases end and writes to customers. Is called over HTTP, and has its drafts checked by another agent. */
import { ReachAgent } from '../../src/sdk/agent';
import { pause, quiet, ticketOf, weighIn, type Meeting, type Notice, type TicketFields } from './desk';

export function letterAgent(
  gateway: string,
  { notice, surveys, both }: { notice: Notice; surveys: string[]; both: Meeting },
): ReachAgent {
  return new ReachAgent({
    descriptor: {
      name: 'letter_agent',
      version: '1.0.0',
      accepted_message_types: ['task', 'event'],
      capabilities: [
        { name: 'find_precedents', description: 'Finds out how similar complaints were settled.' },
        { name: 'write_letter', description: 'Writes the answer to a complaint.' },
        { name: 'ask_for_feedback', description: 'Asks customers how content they are.' },
      ],
      endpoint: { protocol: 'http', timeout_ms: 60_000 },
    },
    gateway,
    handlers: {
      find_precedents: async (payload, call) => {
        await pause(Number(payload.evidence_takes_ms ?? 300), call.signal);
        await ticketOf(call).append('findings', 'nine of ten such cases were settled with a new cup');
        notice(`letter_agent weighs in against it, a little, after ${await weighIn(call, -0.1, both)} read(s)`);
        return { found: 9 };
      },
      write_letter: async (payload, call) => {
        const { fields } = await ticketOf(call).get({ fields: ['liability'] });
        const letter = Number(fields.liability?.value) > 0 ? 'A new cup is on its way.' : 'We are sorry.';
        const { output } = await call.reach.invokeAbility('check_facts', { ...payload, letter });
        if (output.holds !== true) throw new Error('The letter does not hold against the facts');
        await ticketOf(call).update<TicketFields>(() => ({ letter }));
        return { letter };
      },
      ask_for_feedback: (payload) => {
        surveys.push(String(payload.ticket_id));
        notice(`letter_agent asks the customer of case ${String(payload.ticket_id)} for feedback`);
        return { asked: true };
      },
    },
    log: quiet,
  });
}
