import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import type { AgentCall } from '../../src/protocol/shapes';
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

/** What only an HTTP agent can do. */
export type HttpStep =
  | Step
  | { do: 'status'; status: number; headers?: Record<string, string>; body?: string; afterMs?: number }
  /** 202, the result follows. */
  | { do: 'accept' }
  /** Headers at once, then a byte now and then, for ever. */
  | { do: 'drip'; everyMs: number }
  | { do: 'reset'; when: 'before_headers' | 'mid_body' };

/** A scripted agent that serves HTTP. */
export interface ScriptedHttpAgent extends ScriptedAgent<HttpStep> {
  readonly url: string;
  /** Connections ever accepted. */
  readonly connections: number;
}

/** Starts an HTTP agent and registers it with one leased instance. */
export async function startHttpAgent(api: Api, draft: AgentDraft): Promise<ScriptedHttpAgent> {
  const script = new Script<HttpStep>(HELLO);
  const server = createServer((request, response) => {
    serveOne(script, request, response).catch(() => response.destroy());
  });
  let connections = 0;
  server.on('connection', () => (connections += 1));
  server.keepAliveTimeout = 60_000;
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/invoke`;
  if (draft.absent) await stop(server);

  const descriptor = descriptorOf(draft, 'http');
  const place = { name: draft.name, version: descriptor.version, instanceId: `${draft.name}-1` };
  await registerDescriptor(api, descriptor);
  const epoch = await registerInstance(api, place, url);
  return {
    ...place,
    ability: abilityOf(draft),
    url,
    get connections() {
      return connections;
    },
    journal: script.journal,
    plays: (...steps) => script.plays(...steps),
    playsFor: (name, ...steps) => script.playsFor(name, ...steps),
    journalOf: (name) => script.journalOf(name),
    async leave() {
      await api.delete(`/v1/agents/${place.name}/instances/${place.instanceId}?epoch=${epoch}`);
    },
    close: () => stop(server),
  };
}

async function serveOne(script: Script<HttpStep>, request: IncomingMessage, response: ServerResponse): Promise<void> {
  const atMs = performance.now();
  const stopped = new AbortController();
  response.once('close', () => {
    if (!response.writableFinished) stopped.abort();
  });
  if (request.method !== 'POST') return void response.writeHead(404).end();
  const call = JSON.parse(await textOf(request)) as AgentCall;
  const headers = Object.fromEntries(Object.entries(request.headers).map(([name, value]) => [name, String(value)]));
  await play(script.next({ call, headers, atMs, stopped: stopped.signal }), response);
}

async function textOf(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks).toString('utf8');
}

const json = (response: ServerResponse, status: number, body: unknown, headers: Record<string, string> = {}) =>
  void response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(JSON.stringify(body));

async function play(step: HttpStep, response: ServerResponse): Promise<void> {
  if ('afterMs' in step && step.afterMs) await sleep(step.afterMs);
  switch (step.do) {
    case 'answer':
      return json(response, 200, step.output);
    case 'reject':
      return json(response, 422, { error: step.message });
    case 'fail':
      return json(response, 500, { error: step.message });
    case 'busy':
      return json(
        response,
        429,
        { error: 'busy' },
        step.retryAfterMs === undefined ? {} : { 'retry-after': String(step.retryAfterMs / 1_000) },
      );
    case 'status':
      return void response.writeHead(step.status, step.headers).end(step.body ?? '');
    case 'accept':
      return json(response, 202, { accepted: true });
    case 'hang':
      return;
    case 'drip':
      return drip(response, step.everyMs);
    case 'reset':
      if (step.when === 'mid_body')
        await new Promise((resolve) =>
          response
            .writeHead(200, { 'content-type': 'application/json', 'content-length': 100 })
            .write('{"answer":', resolve),
        );
      response.socket?.resetAndDestroy();
  }
}

function drip(response: ServerResponse, everyMs: number): void {
  response.writeHead(200, { 'content-type': 'application/json' });
  const timer = setInterval(() => response.write(' '), everyMs);
  response.once('close', () => clearInterval(timer));
}

function stop(server: Server): Promise<void> {
  return new Promise((resolve) => {
    server.close(() => resolve());
    server.closeAllConnections();
  });
}
