/**
 * Calms customers who are upset. Takes its work from Temporal as an activity worker: needs no port.
 * Run: node dist/examples/ticket-desk/soothing-agent.js --gateway http://127.0.0.1:8080
 */
import { ReachAgent } from '../../src/sdk/agent'; // in a project of your own: from 'agent-reach/agent'
import { decide, type Ticket } from './rules/decide';
import { SOOTHING_RULES } from './rules/soothing';
import { deskFile, deskLog, gatewayUrl, giveUp } from './support/start';

const agent = new ReachAgent({
  descriptor: deskFile('agents/soothing_agent.yaml'),
  gateway: gatewayUrl(),
  handlers: { ticket_disposition: (payload) => decide(SOOTHING_RULES, payload as Ticket) },
  handleSignals: true, // leaves politely: finishes what it has begun, takes nothing new
  log: deskLog('soothing_agent'),
});

agent.start().catch(giveUp);
