import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { exchange, http } from './http';

let server: Server;
let url: string;

beforeEach(async () => {
  server = createServer((request, response) => {
    if (request.url === '/reset') request.socket.resetAndDestroy();
    else if (request.url === '/close') request.socket.destroy();
    else if (request.url === '/cut') {
      response.writeHead(200, { 'content-length': 100 });
      response.write('half', () => request.socket.destroy());
    } else if (request.url !== '/never') response.writeHead(418).end('{"a":1}');
  });
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});
afterEach(() => {
  server.close();
  server.closeAllConnections();
});

it('gives any answer as it is', async () => {
  await expect(http('GET', `${url}/any`)).resolves.toMatchObject({ status: 418, body: { a: 1 } });
});

it.each([
  ['/reset', 'ECONNRESET'],
  ['/close', 'UND_ERR_SOCKET'],
  ['/cut', 'UND_ERR_SOCKET'],
  ['/never', 'timeout'],
])('tells that a request was sent and lost: %s', async (path, code) => {
  const came = await exchange('POST', `${url}${path}`, { body: {}, limitMs: path === '/never' ? 50 : 5_000 });
  expect(came).toMatchObject({ answer: null, silence: { code, sent: true } });
});

it('tells a refused connection from those: nobody has read the request', async () => {
  await new Promise((done) => server.close(done));
  await expect(exchange('POST', url, { body: {} })).resolves.toMatchObject({
    answer: null,
    silence: { code: 'ECONNREFUSED', sent: false },
  });
});
