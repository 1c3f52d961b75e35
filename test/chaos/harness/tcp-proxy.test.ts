import { once } from 'node:events';
import { connect, createServer, type AddressInfo, type Server, type Socket } from 'node:net';
import { TcpProxy } from './tcp-proxy';

let server: Server;
let proxy: TcpProxy;

beforeEach(async () => {
  server = createServer((socket) => socket.on('error', () => undefined).pipe(socket));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  proxy = await TcpProxy.open(`127.0.0.1:${(server.address() as AddressInfo).port}`);
});
afterEach(async () => {
  await proxy.close();
  server.close();
});

async function dial(): Promise<Socket> {
  const [host, port] = proxy.address.split(':');
  const socket = connect(Number(port), host!);
  socket.on('error', () => undefined);
  await once(socket, 'connect');
  return socket;
}

/** Not `once`, which the error of a reset would reject. */
function closing(socket: Socket): Promise<unknown> {
  return new Promise((done) => (socket.closed ? done(null) : socket.once('close', done)));
}

async function echoed(socket: Socket, text: string): Promise<string> {
  let seen = '';
  socket.write(text);
  while (seen.length < text.length) seen += String((await once(socket, 'data'))[0]);
  return seen;
}

it('passes bytes both ways', async () => {
  await expect(echoed(await dial(), 'hello')).resolves.toBe('hello');
});

it('cuts what is connected and what comes, and mends', async () => {
  const before = await dial();
  await echoed(before, 'a');
  const broken = closing(before);
  proxy.cut();
  await broken;
  const during = await dial();
  await closing(during);
  proxy.mend();
  await expect(echoed(await dial(), 'b')).resolves.toBe('b');
});

it('cuts in silence: the connection stays open and nothing passes until it is broken by the mending', async () => {
  const socket = await dial();
  await echoed(socket, 'a');
  proxy.cut({ silent: true });
  let passed = '';
  socket.on('data', (chunk) => (passed += String(chunk)));
  socket.write('lost');
  await new Promise((done) => setTimeout(done, 100));
  expect([passed, socket.destroyed]).toEqual(['', false]);
  const broken = closing(socket);
  proxy.mend();
  await broken;
});

it('holds what connects during a silent cut: open, dead, and broken by the mending', async () => {
  proxy.cut({ silent: true });
  const socket = await dial();
  let passed = '';
  socket.on('data', (chunk) => (passed += String(chunk)));
  socket.write('lost');
  await new Promise((done) => setTimeout(done, 100));
  expect([passed, socket.destroyed]).toEqual(['', false]);
  const broken = closing(socket);
  proxy.mend();
  await broken;
  expect(passed).toBe('');
});

it('lets go of a held connection whose client gives up', async () => {
  proxy.cut({ silent: true });
  const socket = await dial();
  socket.resume();
  const closed = closing(socket);
  socket.end();
  await closed;
});

it('delays, slices and resets', async () => {
  proxy.poison({ latencyMs: 50 });
  const startedMs = performance.now();
  await echoed(await dial(), 'slow');
  expect(performance.now() - startedMs).toBeGreaterThanOrEqual(95);

  proxy.poison({ sliceBytes: 2 });
  const socket = await dial();
  socket.write('abcdef');
  expect(String((await once(socket, 'data'))[0])).toBe('ab');

  proxy.poison({ resetAfterBytes: 3 });
  const reset = await dial();
  const closed = closing(reset);
  reset.write('abcdef');
  await closed;
});
