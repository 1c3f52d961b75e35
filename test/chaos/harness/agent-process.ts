/**
 * The scripted agents, in a process of their own that may be killed at any moment. Every request is written down before
 * anything is done with it, and the work before it is answered, so that the journal never knows less than the agent did.
 * Usage: agent-process.js JOURNAL PORT
 */
import { randomUUID } from 'node:crypto';
import { openSync, writeSync } from 'node:fs';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import type { AgentCall } from '../../../src/protocol/shapes';
import { markOf, type Command, type Line, type Mode, type Report, type Script, type Step } from './agent-script';

const [journalFile = '', port = '0'] = process.argv.slice(2);
const journal = openSync(journalFile, 'a');
const modes = new Map<string, Mode>();
const FLOOD_BYTES = 4 * 1024 * 1024;

/** Results that were promised with a 202, by agent. */
const held = new Map<string, { reachId: string; token: string; turn: Turn }[]>();
const RELEASED_AT_ONCE = 8;

function write(line: Line): void {
  writeSync(journal, `${JSON.stringify(line)}\n`);
}

function tell(report: Report): void {
  if (process.connected) process.send?.(report);
}

function now(): number {
  return performance.timeOrigin + performance.now();
}

async function serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
  if (request.method === 'GET') return void response.end('ok');
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  const call = JSON.parse(Buffer.concat(chunks).toString('utf8')) as AgentCall;
  const agent = (request.url ?? '/').slice(1);
  const id = randomUUID();
  const { reach_id, attempt, fence, bypass, idempotency_key: key } = call;
  write({ e: 'in', id, agent, reach_id, key, tag: markOf(call.payload), attempt, fence, bypass, at: now() });
  const state = { answer: 'none' };
  response.once('close', () => write({ e: 'out', id, answer: state.answer, at: now() }));
  tell({ kind: 'got', agent, reach_id, attempt });
  const script = call.payload as unknown as Script;
  await sleep(script.work_ms ?? 0);
  const mode = modes.get(agent) ?? 'script';
  const step = mode === 'script' ? (script.plan?.[attempt - 1] ?? 'ok') : mode;
  state.answer = step;
  const turn: Turn = { id, response, output: { agent, attempt, fence, tag: script.tag } };
  if (step === 'hold') {
    held.set(agent, [...(held.get(agent) ?? []), { reachId: reach_id, token: tokenOf(request), turn }]);
  }
  play(step, turn);
}

function tokenOf({ headers }: IncomingMessage): string {
  return String(headers['x-reach-token'] ?? '');
}

/** Does the work that was held and delivers it; a gateway that does not answer is asked again. */
async function release(agent: string, gateway: string, copies: number): Promise<void> {
  const queue = [...(held.get(agent) ?? [])];
  // What was held when it was first asked for may be asked for again, through another gateway.
  if (copies === 1) held.delete(agent);
  const lane = async () => {
    for (let next = queue.shift(); next; next = queue.shift()) {
      const { reachId, token, turn } = next;
      turn.done ??= worked(turn.id, turn.output);
      const body = JSON.stringify({ output: turn.done });
      const url = `${gateway}/v1/reaches/${reachId}/result`;
      await Promise.all(Array.from({ length: copies }, () => deliver(url, token, body)));
    }
  };
  await Promise.all(Array.from({ length: RELEASED_AT_ONCE }, lane));
}

async function deliver(url: string, token: string, body: string): Promise<void> {
  const headers = { 'content-type': 'application/json', 'x-reach-token': token };
  for (let tries = 0; tries < 100; tries += 1) {
    const response = await fetch(url, { method: 'POST', headers, body }).catch(() => null);
    await response?.arrayBuffer();
    if (response && response.status < 500) return;
    await sleep(300);
  }
}

interface Turn {
  id: string;
  response: ServerResponse;
  output: Record<string, unknown>;
  /** What was delivered for it: the work is done once. */
  done?: Record<string, unknown>;
}

function play(step: Step, { id, response, output }: Turn): void {
  switch (step) {
    case 'ok':
      return json(response, 200, worked(id, output));
    case 'error':
      return json(response, 500, { error: 'scripted failure' });
    case 'unavailable':
      return json(response, 503, { error: 'scripted outage' });
    case 'later':
      response.setHeader('retry-after', '1');
      return json(response, 503, { error: 'scripted outage' });
    case 'busy':
      return json(response, 429, { error: 'scripted overload' });
    case 'reject':
      return json(response, 422, { error: 'scripted refusal' });
    case 'hold':
      return json(response, 202, { accepted: true });
    case 'hang':
      return;
    case 'drip':
      return drip(response);
    case 'flood':
      return json(response, 200, { ...worked(id, output), ballast: 'x'.repeat(FLOOD_BYTES) });
    case 'reset':
      worked(id, output);
      response.writeHead(200, { 'content-type': 'application/json', 'content-length': 1_000 });
      response.write('{"answer":', () => response.socket?.resetAndDestroy());
  }
}

function worked(id: string, output: Record<string, unknown>): Record<string, unknown> {
  const output_id = randomUUID();
  write({ e: 'work', id, output_id });
  return { answer: 'done', output_id, ...output };
}

function json(response: ServerResponse, status: number, body: unknown): void {
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
}

function drip(response: ServerResponse): void {
  response.writeHead(200, { 'content-type': 'application/json' });
  const timer = setInterval(() => response.write(' '), 100);
  response.once('close', () => clearInterval(timer));
}

const server = createServer({ keepAliveTimeout: 60_000 }, (request, response) => {
  serve(request, response).catch(() => response.destroy());
});
server.listen(Number(port), '127.0.0.1', () => {
  tell({ kind: 'listening', url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` });
});
process.on('message', (command: Command) => {
  if ('mode' in command) modes.set(command.agent, command.mode);
  else void release(command.agent, command.release, command.copies);
});
// Whoever started us is gone.
process.on('disconnect', () => process.exit(0));
