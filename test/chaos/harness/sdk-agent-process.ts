/**
 * An agent by the SDK over HTTP, in a process of its own that may be killed at any moment, which deduplicates in the platform's store.
 * Writes the journal of all scripted agents, and what it asked of the store (store-journal.ts). Its effects go to the ledger, each with
 * its fence, as docs/delivery.md says. It ignores that its caller has left: an attempt that was given up comes to its end.
 * Usage: sdk-agent-process.js JOURNAL GATEWAY DESCRIPTOR LEDGER
 */
import { randomUUID } from 'node:crypto';
import { openSync, writeSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import type { DescriptorDraft } from '../../../src/protocol/descriptor';
import type { JsonObject } from '../../../src/protocol/shapes';
import { AgentFailed, ReachAgent, type AgentContext, type DeduplicationStore } from '../../../src/sdk/agent';
import { businessKey } from '../../../src/sdk/dedup/business-key';
import { PlatformDeduplicationStore } from '../../../src/sdk/dedup/platform';
import { markOf, type Line, type Report, type Script } from './agent-script';
import { book } from './ledger';
import { machineMs, textOf, type StoreLine } from './store-journal';

const [journalFile = '', gateway = '', descriptorText = '', ledger = ''] = process.argv.slice(2);
const descriptor = JSON.parse(descriptorText) as DescriptorDraft;
const agentName = descriptor.name;
const journal = openSync(journalFile, 'a');
/** What an attempt takes whose step is `hang`, beyond the endpoint's timeout, ms: it outlives the attempt that follows it. */
const OVERTIME_MS = 1_000;
/** Between the effect and its record, so that a kill can hit there. */
const HESITATION_MS = 60;
/** So that one that was killed is soon forgotten, and one on a busy machine is not. */
const LEASE = { ttlSec: 10, heartbeatIntervalMs: 500 };

const write = (line: StoreLine | Line) => void writeSync(journal, `${JSON.stringify(line)}\n`);
const tell = (report: Report) => void (process.connected && process.send?.(report));

/** Which question to the store let the handler run that begins next, by the store's key: they run one at a time for each. */
const granted = new Map<string, string>();

/** Writes down what is asked and what was answered. */
class WitnessedStore implements DeduplicationStore {
  readonly #inner = new PlatformDeduplicationStore({ url: gateway, agentName });
  readonly maxOutputBytes = this.#inner.maxOutputBytes;

  async begin(request: Parameters<DeduplicationStore['begin']>[0]) {
    const { key: hash, fence } = request;
    const id = randomUUID();
    granted.delete(hash);
    write({ e: 'ask', id, what: 'begin', hash, fence, at: machineMs() });
    const answer = await this.#told(id, this.#inner.begin(request));
    write({ e: 'told', id, status: answer.status, output: outputOf(answer), at: machineMs() });
    if (answer.status === 'free') granted.set(hash, id);
    return answer;
  }

  async complete(request: Parameters<DeduplicationStore['complete']>[0]) {
    const { key: hash, fence } = request;
    const output = textOf(request.output);
    const id = randomUUID();
    write({ e: 'ask', id, what: 'complete', hash, fence, output, at: machineMs() });
    const answer = await this.#told(id, this.#inner.complete(request));
    const onRecord = answer.status === 'recorded' ? output : outputOf(answer);
    write({ e: 'told', id, status: answer.status, output: onRecord, at: machineMs() });
    return answer;
  }

  #told<T>(id: string, answer: Promise<T>): Promise<T> {
    return answer.catch((error: unknown) => {
      write({ e: 'told', id, status: 'failed', output: null, at: machineMs() });
      throw error;
    });
  }
}

function outputOf(answer: { status: string; output?: JsonObject | null }): string | null {
  return answer.output ? textOf(answer.output) : null;
}

async function handle(payload: JsonObject, context: AgentContext): Promise<JsonObject> {
  const { reachId: reach_id, attempt, fence, bypass, idempotencyKey: key } = context;
  const script = payload as unknown as Script;
  const id = randomUUID();
  const names = { ability: context.ability, idempotency_key: key, message_id: context.messageId };
  const hash = businessKey(agentName, { ...names, source_agent: context.sourceAgent });
  const semantics = context.deliverySemantics === 'exactly_once' ? 'exactly_once' : 'at_least_once';
  const call = { id, agent: agentName, reach_id, key, tag: markOf(payload), attempt, fence, bypass };
  write({ e: 'in', ...call, hash, semantics, begin: granted.get(hash) ?? null, at: machineMs() });
  granted.delete(hash);
  tell({ kind: 'got', agent: agentName, reach_id, attempt });
  const isSlow = script.plan[attempt - 1] === 'hang';
  await sleep(isSlow ? context.deadlineMs + OVERTIME_MS : script.work_ms);
  const output_id = randomUUID();
  const output = { answer: 'done', output_id, agent: agentName, attempt, fence, tag: script.tag };
  if (!(await book(ledger, { key, fence, fenced: semantics === 'exactly_once' })))
    throw new AgentFailed('A newer attempt is at work');
  write({ e: 'work', id, output_id, output: textOf(output) });
  tell({ kind: 'worked', agent: agentName, reach_id, attempt });
  await sleep(HESITATION_MS);
  return output;
}

async function main(): Promise<void> {
  const quiet = () => undefined;
  const abilities = descriptor.capabilities.map((each) => (typeof each === 'string' ? each : each.name));
  const agent = new ReachAgent({
    descriptor,
    gateway,
    handlers: Object.fromEntries(abilities.map((ability) => [ability, handle])),
    deduplication: new WitnessedStore(),
    ...LEASE,
    log: { debug: quiet, info: quiet, warn: quiet, error: quiet },
  });
  await agent.start();
  tell({ kind: 'listening', url: agent.url ?? '' });
}

// Whoever started us is gone.
process.on('disconnect', () => process.exit(0));
main().catch((error: unknown) => {
  process.stderr.write(`${String(error)}\n`);
  process.exit(1);
});
