/**
 * An agent that takes its calls from a queue, by the SDK, in a process of its own that may be killed at any moment. Writes the same
 * journal as the other scripted agents. It remembers nothing of what it has done, so that whatever reaches it shows.
 * Usage: queue-agent-process.js JOURNAL GATEWAY DESCRIPTOR
 */
import { randomUUID } from 'node:crypto';
import { openSync, writeSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import type { DescriptorDraft } from '../../../src/protocol/descriptor';
import type { JsonObject } from '../../../src/protocol/shapes';
import { ReachAgent, type AgentContext } from '../../../src/sdk/agent';
import { markOf, type Line, type Report, type Script } from './agent-script';

const [journalFile = '', gateway = '', descriptorText = ''] = process.argv.slice(2);
const descriptor = JSON.parse(descriptorText) as DescriptorDraft;
const journal = openSync(journalFile, 'a');
/** Between the work and its answer, so that a kill can hit there. */
const HESITATION_MS = 60;
/** By then an answer was acknowledged, or will not be. */
const ACKNOWLEDGED_MS = 300;

const write = (line: Line) => void writeSync(journal, `${JSON.stringify(line)}\n`);
const tell = (report: Report) => void (process.connected && process.send?.(report));
const now = () => performance.timeOrigin + performance.now();

async function handle(payload: JsonObject, context: AgentContext): Promise<JsonObject> {
  const { reachId: reach_id, attempt, fence, bypass, idempotencyKey: key } = context;
  const agent = descriptor.name;
  const id = randomUUID();
  write({ e: 'in', id, agent, reach_id, key, tag: markOf(payload), attempt, fence, bypass, queued: true, at: now() });
  tell({ kind: 'got', agent, reach_id, attempt });
  const script = payload as unknown as Script;
  await sleep(script.work_ms);
  const output_id = randomUUID();
  write({ e: 'work', id, output_id });
  tell({ kind: 'worked', agent, reach_id, attempt });
  await sleep(HESITATION_MS);
  const at = now();
  // Whoever is killed before has not acknowledged, as far as the journal knows.
  setTimeout(() => write({ e: 'out', id, answer: 'ok', at }), ACKNOWLEDGED_MS);
  return { answer: 'done', output_id, agent, attempt, fence, tag: script.tag };
}

async function main(): Promise<void> {
  const quiet = () => undefined;
  const agent = new ReachAgent({
    descriptor,
    gateway,
    handlers: Object.fromEntries(
      descriptor.capabilities.map((each) => [typeof each === 'string' ? each : each.name, handle]),
    ),
    deduplication: 'off',
    log: { debug: quiet, info: quiet, warn: quiet, error: quiet },
  });
  await agent.start();
  tell({ kind: 'listening', url: '' });
}

// Whoever started us is gone.
process.on('disconnect', () => process.exit(0));
main().catch((error: unknown) => {
  process.stderr.write(`${String(error)}\n`);
  process.exit(1);
});
