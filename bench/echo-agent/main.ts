/**
 * The agent that both sides call: says back what it was asked, at once, so that what is measured is the way there.
 * It answers under /NAME for any name, and says which, so that a misrouted request shows.
 * Usage: node main.js
 */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { stopWithParent } from '../children';

interface Call {
  payload: { text: string; n: number };
}

async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  const { payload } = JSON.parse(Buffer.concat(chunks).toString('utf8')) as Call;
  const body = JSON.stringify({ answer: payload.text, n: payload.n, agent: request.url?.slice(1) });
  response.writeHead(200, { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) }).end(body);
}

const server = createServer({ keepAliveTimeout: 60_000 }, (request, response) => {
  answer(request, response).catch(() => response.writeHead(400).end());
});
server.listen(0, '127.0.0.1', () => {
  process.stdout.write(`ready http://127.0.0.1:${(server.address() as AddressInfo).port}\n`);
});
stopWithParent(async () => {
  server.closeAllConnections();
  server.close();
});
