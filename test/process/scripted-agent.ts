import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

/** One request as the agent saw it. */
export interface SeenCall {
  body: { attempt: number; idempotency_key: string; reach_id: string; payload: Record<string, unknown> };
}

/** An HTTP agent whose answers are written by the test; `seen` is its journal. */
export interface ScriptedAgent {
  url: string;
  seen: SeenCall[];
  /** Resolves when the agent has received its `n`th call. */
  received(n: number): Promise<void>;
  answerWith(answer: (call: SeenCall, response: ServerResponse) => void): void;
  close(): Promise<void>;
}

export const ok = (_call: SeenCall, response: ServerResponse): void => {
  response.setHeader('content-type', 'application/json');
  response.end('{"answer":"done"}');
};

export async function startScriptedAgent(): Promise<ScriptedAgent> {
  const seen: SeenCall[] = [];
  const waiting: { n: number; done: () => void }[] = [];
  let answer = ok;
  const server = createServer((request: IncomingMessage, response) => {
    if (request.method === 'GET') return void response.end('ok');
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const call = { body: JSON.parse(Buffer.concat(chunks).toString()) as SeenCall['body'] };
      seen.push(call);
      answer(call, response);
      for (const { n, done } of waiting) if (seen.length >= n) done();
    });
  });
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`,
    seen,
    received: (n) => new Promise((done) => (seen.length >= n ? done() : waiting.push({ n, done }))),
    answerWith: (next) => (answer = next),
    close: () =>
      new Promise((done) => {
        server.close(() => done());
        server.closeAllConnections();
      }),
  };
}

/** Registers an agent with one ability `work` at a static address. */
export async function registerAgent(
  gateway: string,
  name: string,
  more: { url: string; capability?: object; endpoint?: object },
): Promise<void> {
  const descriptor = {
    name,
    version: '1.0.0',
    capabilities: [{ name: 'work', description: 'does the work', ...more.capability }],
    endpoint: { protocol: 'http', address: more.url, ...more.endpoint },
  };
  const response = await fetch(`${gateway}/v1/agents`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(descriptor),
  });
  if (response.status !== 201) throw new Error(`registering ${name}: ${response.status} ${await response.text()}`);
}

/** Posts an envelope and reads the answer. */
export async function reach(
  gateway: string,
  envelope: object,
  prefer?: string,
): Promise<{ status: number; body: Record<string, never> & { reach_id: string; status: string; code?: string } }> {
  const response = await fetch(`${gateway}/v1/reaches`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...(prefer && { prefer }) },
    body: JSON.stringify(envelope),
  });
  return { status: response.status, body: (await response.json()) as never };
}

/** Long-polls a reach until it has ended. */
export async function ended(gateway: string, id: string): Promise<Record<string, unknown> & { status: string }> {
  for (;;) {
    const response = await fetch(`${gateway}/v1/reaches/${id}?wait=30`);
    const view = (await response.json()) as Record<string, unknown> & { status: string };
    if (!['accepted', 'running'].includes(view.status)) return view;
  }
}
