/**
 * Answers questions about products. Takes its work from Temporal as an activity worker: needs no port.
 * Run: node dist/examples/ticket-desk/product-qa-agent.js --gateway http://127.0.0.1:8080
 */
import { ReachAgent } from '../../src/sdk/agent'; // in a project of your own: from 'agent-reach/agent'
import { decide, type Ticket } from './rules/decide';
import { PRODUCT_QA_RULES } from './rules/product-qa';
import { deskFile, deskLog, gatewayUrl, giveUp } from './support/start';

const agent = new ReachAgent({
  descriptor: deskFile('agents/product_qa_agent.yaml'),
  gateway: gatewayUrl(),
  handlers: { ticket_disposition: (payload) => decide(PRODUCT_QA_RULES, payload as Ticket) },
  handleSignals: true, // leaves politely: finishes what it has begun, takes nothing new
  log: deskLog('product_qa_agent'),
});

agent.start().catch(giveUp);
