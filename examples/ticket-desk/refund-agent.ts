/**
 * Finds out where a refund is and moves it along. Is called over HTTP.
 * Run: node dist/examples/ticket-desk/refund-agent.js --gateway http://127.0.0.1:8080
 */
import { ReachAgent } from '../../src/sdk/agent'; // in a project of your own: from 'agent-reach/agent'
import { decide, type Ticket } from './rules/decide';
import { REFUND_RULES } from './rules/refund';
import { deskFile, deskLog, gatewayUrl, giveUp } from './support/start';

const agent = new ReachAgent({
  descriptor: deskFile('agents/refund_agent.yaml'),
  gateway: gatewayUrl(),
  handlers: { ticket_disposition: (payload) => decide(REFUND_RULES, payload as Ticket) },
  handleSignals: true, // leaves politely: finishes what it has begun, takes nothing new
  log: deskLog('refund_agent'),
});

agent.start().catch(giveUp);
