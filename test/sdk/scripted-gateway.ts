import {
  createServer,
  type IncomingHttpHeaders,
  type IncomingMessage,
  type Server,
  type ServerResponse,
} from 'node:http';
import { type AddressInfo } from 'node:net';

/** A request as the gateway got it. */
export interface Seen {
  method: string;
  path: string;
  query: URLSearchParams;
  headers: IncomingHttpHeaders;
  text: string;
  /** The body as JSON; undefined when it is none. */
  json: Record<string, unknown> | undefined;
  at: number;
}

/** What the script answers; `reset` cuts the connection, `hang` never answers. */
export type Reply = { status: number; body?: unknown; headers?: Record<string, string> } | 'reset' | 'hang';
export type Script = (seen: Seen, nth: number) => Reply | Promise<Reply>;

/** A real HTTP server on loopback that plays the gateway's part by script, to see what the SDK puts on the wire. */
export class ScriptedGateway {
  readonly seen: Seen[] = [];
  #server: Server | undefined;
  #port = 0;
  readonly #waiters: (() => void)[] = [];

  constructor(public script: Script) {}

  static async start(script: Script): Promise<ScriptedGateway> {
    const gateway = new ScriptedGateway(script);
    await gateway.listen();
    return gateway;
  }

  get url(): string {
    return `http://127.0.0.1:${this.#port}`;
  }

  /** Listens, the second time on the same port. */
  async listen(): Promise<void> {
    const server = createServer((request, response) => void this.#serve(request, response));
    this.#server = server;
    await new Promise<void>((resolve) => server.listen(this.#port, '127.0.0.1', resolve));
    this.#port = (server.address() as AddressInfo).port;
  }

  async close(): Promise<void> {
    const server = this.#server;
    await new Promise<void>((resolve) => {
      server?.close(() => resolve());
      server?.closeAllConnections();
    });
  }

  requests(method: string, path: RegExp): Seen[] {
    return this.seen.filter((seen) => seen.method === method && path.test(seen.path));
  }

  /** Resolves as soon as `done()` holds, looking again after each request. */
  async until(done: () => boolean): Promise<void> {
    while (!done()) await new Promise<void>((resolve) => this.#waiters.push(resolve));
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const seen = await read(request);
    this.seen.push(seen);
    const nth = this.requests(seen.method, new RegExp(`^${seen.path}$`)).length;
    const reply = await this.script(seen, nth);
    if (reply === 'reset') request.socket.destroy();
    else if (reply !== 'hang') answer(response, reply);
    for (const wake of this.#waiters.splice(0)) wake();
  }
}

async function read(request: IncomingMessage): Promise<Seen> {
  const parts: Buffer[] = [];
  for await (const part of request as AsyncIterable<Buffer>) parts.push(part);
  const text = Buffer.concat(parts).toString();
  const url = new URL(request.url ?? '/', 'http://x');
  return {
    method: request.method ?? '',
    path: url.pathname,
    query: url.searchParams,
    headers: request.headers,
    text,
    json: toJson(text),
    at: performance.now(),
  };
}

function toJson(text: string): Record<string, unknown> | undefined {
  try {
    return JSON.parse(text) as Record<string, unknown>;
  } catch {
    return undefined;
  }
}

function answer(response: ServerResponse, reply: Exclude<Reply, string>): void {
  const type = reply.status >= 400 ? 'application/problem+json' : 'application/json';
  const body = typeof reply.body === 'string' ? reply.body : JSON.stringify(reply.body ?? {});
  response.writeHead(reply.status, { 'content-type': type, ...reply.headers }).end(body);
}

/** A problem document as the gateway writes it. */
export function problem(code: string, status: number, more: object = {}): Exclude<Reply, string> {
  return {
    status,
    body: {
      type: `urn:agent-reach:error:${code}`,
      title: code,
      status,
      code,
      detail: `detail of ${code}`,
      retryable: false,
      degraded: false,
      ...more,
    },
  };
}
