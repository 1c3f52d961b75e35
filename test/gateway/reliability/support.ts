/** An HTTP agent whose every visit a test answers by a function: several abilities, several instances, and a count of who is inside. */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { BreakerItem } from '../../../src/protocol/breaker-override';
import type { DescriptorDraft } from '../../../src/protocol/descriptor';
import type { AgentCall } from '../../../src/protocol/shapes';
import type { Answer, Api } from '../../support/api';
import { registerDescriptor } from '../../support/scripted-agent';
import { waitFor } from '../../support/wait-for';
import { mostAtOnce, type Stay } from '../../chaos/checker/limits';

/** One request as the agent saw it. */
export interface Visit {
  call: AgentCall;
  headers: IncomingMessage['headers'];
  instance: string;
  /** `performance.now()` on arrival. */
  atMs: number;
  /** Aborts when the platform drops the request. */
  dropped: AbortSignal;
}

/** What the agent answers; an `output` is a 200. */
export interface Reply {
  status?: number;
  headers?: Record<string, string>;
  output?: object;
}

/** Decides about each visit; until it resolves the request is inside. */
export type Plot = (visit: Visit) => Reply | Promise<Reply>;

export interface StagedDraft {
  name: string;
  /** Default: one called `NAME.work`. */
  capabilities?: DescriptorDraft['capabilities'];
  endpoint?: Partial<NonNullable<DescriptorDraft['endpoint']>>;
  /** Ids of instances. Default: `NAME-1`. */
  instances?: string[];
  /** Calls at once that each instance takes. */
  maxConcurrency?: number;
}

export interface StagedAgent {
  readonly name: string;
  readonly ability: string;
  readonly visits: Visit[];
  /** Requests inside now, and the most there ever were. */
  readonly inside: number;
  readonly mostInside: number;
  /** From now on; empties the visits and the count of the most. */
  plays(plot: Plot): void;
  /** What came for payloads of this `case`. */
  visitsOf(name: string): Visit[];
  /** Takes an instance out politely, or brings it (back). */
  leave(instance: string): Promise<void>;
  join(instance: string): Promise<void>;
  close(): Promise<void>;
}

export const ok: Reply = { output: { answer: 'ok' } };
export const broken: Reply = { status: 503, output: { error: 'db down' } };

/** Starts the agent and registers it. */
export async function startStaged(api: Api, draft: StagedDraft): Promise<StagedAgent> {
  const { name, capabilities = [`${name}.work`], endpoint, maxConcurrency } = draft;
  const visits: Visit[] = [];
  const epochs = new Map<string, string>();
  let plot: Plot = () => ok;
  let stays: Stay[] = [];
  const inside = () => stays.filter(({ left_ms }) => left_ms === null).length;
  const serve = async (request: IncomingMessage, response: ServerResponse) => {
    if (request.method !== 'POST') return void response.writeHead(200).end();
    const dropped = new AbortController();
    const stay: Stay = { arrived_ms: performance.now(), left_ms: null, answer: 'ok' };
    stays.push(stay);
    const leave = () => void (stay.left_ms ??= performance.now());
    response.once('close', () => {
      if (stay.left_ms === null) stay.answer = 'none';
      leave();
      if (!response.writableFinished) dropped.abort();
    });
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const call = JSON.parse(Buffer.concat(chunks).toString('utf8')) as AgentCall;
    const instance = (request.url ?? '').slice(1);
    const visit = { call, headers: request.headers, instance, atMs: performance.now(), dropped: dropped.signal };
    visits.push(visit);
    const { status = 200, headers, output = {} } = await plot(visit);
    // Before the answer: the platform may send the next one as soon as it has it.
    leave();
    response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(JSON.stringify(output));
  };
  const server = createServer((request, response) => void serve(request, response).catch(() => response.destroy()));
  server.keepAliveTimeout = 60_000;
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const version = '1.0.0';
  await registerDescriptor(api, {
    name,
    version,
    capabilities,
    endpoint: { protocol: 'http', max_retry: 0, ...endpoint },
  });
  const join = async (id: string) => {
    const answer = await api.put(`/v1/agents/${name}/instances/${id}`, {
      version,
      ttl_sec: 600,
      host: `${origin}/${id}`,
      ...(maxConcurrency !== undefined && { max_concurrency: maxConcurrency }),
    });
    if (answer.status >= 300) throw new Error(`registering ${id}: ${answer.text}`);
    epochs.set(id, String(answer.body.epoch));
  };
  const [first] = capabilities;
  for (const id of draft.instances ?? [`${name}-1`]) await join(id);
  return {
    name,
    ability: typeof first === 'string' ? first : first!.name,
    visits,
    get inside() {
      return inside();
    },
    get mostInside() {
      return mostAtOnce(stays.map((stay) => ({ ...stay, left_ms: stay.left_ms ?? Number.POSITIVE_INFINITY })));
    },
    plays(next) {
      plot = next;
      visits.length = 0;
      stays = stays.filter(({ left_ms }) => left_ms === null);
    },
    visitsOf: (wanted) => visits.filter(({ call }) => call.payload.case === wanted),
    async leave(id) {
      await api.delete(`/v1/agents/${name}/instances/${id}?epoch=${epochs.get(id)}`);
    },
    join,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

/** A door that a plot waits at until the test opens it. */
export interface Gate {
  readonly opened: Promise<void>;
  open(): void;
}

export function gate(): Gate {
  let open!: () => void;
  const opened = new Promise<void>((resolve) => (open = resolve));
  return { opened, open };
}

/** The breaker of an ability as `GET /v1/breakers` has it, closed ones included. */
export async function breakerOf(api: Api, ability: string, agentName?: string): Promise<BreakerItem> {
  const items = (await api.get('/v1/breakers?all=true')).body.items as BreakerItem[];
  const found = items.find((item) => item.ability === ability && (!agentName || item.agent_name === agentName));
  if (!found) throw new Error(`no breaker of ${ability}`);
  return found;
}

export function untilBreaker(
  api: Api,
  ability: string,
  state: BreakerItem['state'],
  agentName?: string,
): Promise<BreakerItem> {
  return waitFor(
    `the breaker of ${ability} being ${state}`,
    async () => {
      const item = await breakerOf(api, ability, agentName);
      if (item.state === state) return item;
      throw new Error(JSON.stringify(item));
    },
    30_000,
  );
}

/** The value of one sample of `/metrics`; 0 when there is none. */
export async function metric(api: Api, sample: string): Promise<number> {
  const { text } = await api.get('/metrics');
  const line = text.split('\n').find((one) => one.startsWith(`${sample} `));
  return line ? Number(line.slice(sample.length + 1)) : 0;
}

/** How many answers there are of each kind: `200`, or the code of the problem. */
export function tally(answers: Answer[]): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const { status, body } of answers) {
    const kind = String(body?.code ?? status);
    counts[kind] = (counts[kind] ?? 0) + 1;
  }
  return counts;
}

/** Runs `times` jobs, `width` at a time, in order of index. */
export async function inBatches<T>(times: number, width: number, job: (index: number) => Promise<T>): Promise<T[]> {
  const results: T[] = new Array<T>(times);
  let next = 0;
  const lane = async () => {
    for (let index = next++; index < times; index = next++) results[index] = await job(index);
  };
  await Promise.all(Array.from({ length: width }, lane));
  return results;
}
