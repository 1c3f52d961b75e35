import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import {
  AgentBusy,
  AgentFailed,
  AgentRejected,
  ReachAgent,
  type AgentContext,
  type AgentLog,
} from '../../src/sdk/agent';
import type { AgentCall, JsonObject } from '../../src/protocol/shapes';
import type { Api } from './api';
import {
  abilityOf,
  descriptorOf,
  HELLO,
  registerDescriptor,
  registerInstance,
  Script,
  type AgentDraft,
  type ScriptedAgent,
  type Step,
} from './scripted-agent';

const silent: AgentLog = {
  debug: () => undefined,
  info: () => undefined,
  warn: () => undefined,
  error: () => undefined,
};

/** Test files share one Temporal: an agent of the same name in another file must not take this one's calls. */
const OF_THIS_FILE = randomUUID().slice(0, 8);

/** Starts an agent as an activity worker. */
export function startWorkerAgent(api: Api, draft: AgentDraft): Promise<ScriptedAgent> {
  const endpoint = { task_queue: `${draft.name}-${OF_THIS_FILE}`, ...draft.endpoint };
  return startSdkAgent(api, draft, descriptorOf({ ...draft, endpoint }, 'worker'));
}

/** Starts an agent with this descriptor by the SDK's `ReachAgent`, and waits until it is registered. */
export async function startSdkAgent(
  api: Api,
  draft: AgentDraft,
  descriptor: ReturnType<typeof descriptorOf>,
): Promise<ScriptedAgent> {
  const script = new Script<Step>(HELLO);
  const ability = abilityOf(draft);
  const place = { name: draft.name, version: descriptor.version, instanceId: `${draft.name}-1` };
  const common = {
    ...place,
    ability,
    journal: script.journal,
    plays: (...steps: Step[]) => script.plays(...steps),
    playsFor: (name: string, ...steps: Step[]) => script.playsFor(name, ...steps),
    journalOf: (name: string) => script.journalOf(name),
  };
  if (draft.absent) {
    await registerDescriptor(api, descriptor);
    await registerInstance(api, place);
    return { ...common, leave: () => Promise.resolve(), close: () => Promise.resolve() };
  }
  const agent = new ReachAgent({
    descriptor,
    gateway: api.url,
    instanceId: place.instanceId,
    replaceDescriptor: true,
    handlers: { [ability]: (payload, context) => handle(script, payload, context) },
    drainTimeoutMs: 100,
    log: silent,
  });
  await agent.start();
  return { ...common, leave: () => agent.stop(), close: () => agent.stop() };
}

async function handle(script: Script<Step>, payload: JsonObject, context: AgentContext): Promise<JsonObject> {
  const step = script.next({
    call: callOf(payload, context),
    headers: { traceparent: context.traceparent },
    atMs: performance.now(),
    stopped: context.signal,
  });
  if ('afterMs' in step && step.afterMs) await sleep(step.afterMs);
  switch (step.do) {
    case 'answer':
      return step.output;
    case 'reject':
      throw new AgentRejected(step.message);
    case 'fail':
      throw new AgentFailed(step.message);
    case 'busy':
      throw new AgentBusy('busy', step.retryAfterMs);
    case 'hang':
      return untilStopped(context.signal);
  }
}

/** What came over Temporal or a queue, in the words of the wire. */
function callOf(payload: JsonObject, context: AgentContext): AgentCall {
  return {
    message_id: context.messageId,
    reach_id: context.reachId,
    ability: context.ability,
    type: context.type,
    payload,
    context_id: context.contextId,
    idempotency_key: context.idempotencyKey,
    delivery_semantics: context.deliverySemantics,
    source_agent: context.sourceAgent,
    group: context.group,
    version: context.version,
    attempt: context.attempt,
    fence: context.fence,
    deadline_ms: context.deadlineMs,
    bypass: context.bypass,
  };
}

function untilStopped(signal: AbortSignal): Promise<never> {
  return new Promise((_resolve, reject) => {
    const stop = () => reject(signal.reason as Error);
    if (signal.aborted) stop();
    else signal.addEventListener('abort', stop, { once: true });
  });
}
