import { createServer, type IncomingHttpHeaders } from 'node:http';
import type { AddressInfo } from 'node:net';
import { waitFor } from '../support/wait-for';

/** One request that a receiver got, exactly as it came. */
export interface Received {
  path: string;
  headers: IncomingHttpHeaders;
  raw: Buffer;
  /** `performance.now()` on arrival. */
  atMs: number;
}

/** What a receiver answers; `hang` never does. */
export interface Reply {
  status: number;
  headers?: Record<string, string>;
  hang?: true;
}

/** A receiver of callbacks that keeps what it gets. */
export interface Receiver {
  /** `http://127.0.0.1:port/hook`; a path and a host name of one's own are put in. */
  url(path?: string, name?: string): string;
  readonly connections: number;
  readonly received: Received[];
  /** Answers in this order, then the last one for ever. Default 204. */
  answers(...replies: (Reply | number)[]): void;
  /** Waits for the request number `n`, 1 for the first. */
  nth(n: number, path?: string): Promise<Received>;
  /** Those that came to this path. */
  at(path: string): Received[];
  close(): Promise<void>;
}

/** @param place another address of this machine, or another port than a free one */
export async function startReceiver({ host = '127.0.0.1', port: wanted = 0 } = {}): Promise<Receiver> {
  const received: Received[] = [];
  let script: Reply[] = [{ status: 204 }];
  let connections = 0;
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const atMs = performance.now();
      received.push({ path: request.url ?? '', headers: request.headers, raw: Buffer.concat(chunks), atMs });
      const reply = (script.length > 1 ? script.shift() : script[0]) ?? { status: 204 };
      if (!reply.hang) response.writeHead(reply.status, reply.headers).end();
    });
  });
  server.on('connection', () => (connections += 1));
  await new Promise<void>((resolve) => server.listen(wanted, host, resolve));
  const { port } = server.address() as AddressInfo;
  const at = (path: string) => received.filter((one) => one.path === path);
  return {
    url: (path = '/hook', name = host) => `http://${name}:${port}${path}`,
    get connections() {
      return connections;
    },
    received,
    answers(...replies) {
      script = replies.map((reply) => (typeof reply === 'number' ? { status: reply } : reply));
    },
    at,
    nth: (n, path) => waitFor(`request ${n}${path ? ` to ${path}` : ''}`, () => (path ? at(path) : received)[n - 1]),
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}
