/**
 * Decides who is liable for goods that are not as they should be. Is called over HTTP.
 * Run: node dist/examples/ticket-desk/aftersale-agent.js --gateway http://127.0.0.1:8080
 */
import { ReachAgent } from '../../src/sdk/agent'; // in a project of your own: from 'agent-reach/agent'
import { decide, type Ticket } from './rules/decide';
import { AFTERSALE_RULES } from './rules/aftersale';
import { deskFile, deskLog, gatewayUrl, giveUp } from './support/start';

const agent = new ReachAgent({
  descriptor: deskFile('agents/aftersale_agent.yaml'),
  gateway: gatewayUrl(),
  handlers: { ticket_disposition: (payload) => decide(AFTERSALE_RULES, payload as Ticket) },
  handleSignals: true, // leaves politely: finishes what it has begun, takes nothing new
  log: deskLog('aftersale_agent'),
});

agent.start().catch(giveUp);
