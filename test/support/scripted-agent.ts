/**
 * Agents whose behaviour a test writes down request by request, whatever protocol they speak. The vocabulary is
 * common; what only HTTP can do is in scripted-http-agent.
 */
import type { DescriptorDraft } from '../../src/protocol/descriptor';
import type { AgentCall, JsonObject } from '../../src/protocol/shapes';
import type { Api } from './api';

/** What an agent does with one request. */
export type Step =
  | { do: 'answer'; output: JsonObject; afterMs?: number }
  /** This request will never work. */
  | { do: 'reject'; message: string }
  /** A passing failure. */
  | { do: 'fail'; message: string; afterMs?: number }
  | { do: 'busy'; retryAfterMs?: number }
  /** Never answers, until it is told to stop. */
  | { do: 'hang' };

/** One request as the agent saw it. */
export interface Seen {
  call: AgentCall;
  /** HTTP only: the headers as they came. */
  headers: Record<string, string>;
  /** `performance.now()` on arrival. */
  atMs: number;
  /** Aborts when the platform gives the attempt up (connection closed, activity cancelled). */
  stopped: AbortSignal;
}

/** How a scripted agent is described; the rest of its descriptor is made up. */
export interface AgentDraft {
  name: string;
  version?: string;
  capability?: Partial<Exclude<DescriptorDraft['capabilities'][number], string>>;
  /** `timeout_ms`, `max_retry` … */
  endpoint?: Partial<NonNullable<DescriptorDraft['endpoint']>>;
  descriptor?: Partial<DescriptorDraft>;
  /** Registers, and is not there. */
  absent?: boolean;
}

/** A running agent under a script. */
export interface ScriptedAgent<S extends { do: string } = Step> {
  readonly name: string;
  readonly version: string;
  readonly ability: string;
  readonly instanceId: string;
  readonly journal: Seen[];
  /** From now on: these steps one after the other, the last one for ever; empties the journal. */
  plays(...steps: S[]): void;
  /** The same for requests whose payload has this `case`, so that many scripts can run side by side. */
  playsFor(name: string, ...steps: S[]): void;
  /** What came for this `case`. */
  journalOf(name: string): Seen[];
  /** Deregisters politely. */
  leave(): Promise<void>;
  /** Ends it. Safe to call again. */
  close(): Promise<void>;
}

/** The script and the journal of one agent. */
export class Script<S> {
  readonly journal: Seen[] = [];
  #steps: S[] = [];
  readonly #cases = new Map<unknown, S[]>();

  constructor(private readonly fallback: S) {}

  plays(...steps: S[]): void {
    this.#steps = steps;
    this.journal.length = 0;
  }

  playsFor(name: string, ...steps: S[]): void {
    this.#cases.set(name, steps);
  }

  journalOf(name: string): Seen[] {
    return this.journal.filter(({ call }) => call.payload.case === name);
  }

  /** Notes a request and says what to do with it. */
  next(seen: Seen): S {
    this.journal.push(seen);
    const steps = this.#cases.get(seen.call.payload.case) ?? this.#steps;
    const step = steps.length > 1 ? steps.shift() : steps[0];
    return step ?? this.fallback;
  }
}

/** The answer of an agent that nothing was scripted for. */
export const HELLO: Step = { do: 'answer', output: { answer: 'hello' } };

/** The name of an agent's one ability. */
export function abilityOf({ name, capability }: AgentDraft): string {
  return capability?.name ?? `${name}.work`;
}

/** A descriptor with one ability. */
export function descriptorOf(draft: AgentDraft, protocol: 'http' | 'worker' | 'mq') {
  const { name, version = '1.0.0', capability, endpoint, descriptor } = draft;
  return {
    name,
    version,
    capabilities: [{ description: `what ${name} does`, ...capability, name: abilityOf(draft) }],
    endpoint: { protocol, ...endpoint },
    ...descriptor,
  } satisfies DescriptorDraft;
}

/** Registers a descriptor; throws what the gateway says when it refuses. */
export async function registerDescriptor(api: Api, descriptor: DescriptorDraft): Promise<void> {
  const answer = await api.post('/v1/agents?replace=true', descriptor);
  if (answer.status >= 300) throw new Error(`registering ${descriptor.name}: ${answer.text}`);
}

/** Registers an instance under a lease that outlives the test; answers its epoch. */
export async function registerInstance(
  api: Api,
  agent: { name: string; version: string; instanceId: string },
  host?: string,
): Promise<string> {
  const path = `/v1/agents/${agent.name}/instances/${agent.instanceId}`;
  const answer = await api.put(path, { version: agent.version, ttl_sec: 600, ...(host && { host }) });
  if (answer.status >= 300) throw new Error(`registering ${agent.instanceId}: ${answer.text}`);
  return answer.body.epoch as string;
}
