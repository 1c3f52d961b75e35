import { createServer, type AddressInfo, type Server, type Socket } from 'node:net';
import { S3Store } from '../../src/payloads/s3-store';

const before = { ...process.env };
beforeAll(() => Object.assign(process.env, { AWS_ACCESS_KEY_ID: 'test', AWS_SECRET_ACCESS_KEY: 'test' }));
afterAll(() => (process.env = before));

const HALF = 'HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\nhello';

/** A server that takes every connection, and says `words` and nothing more. */
async function startMute(words: string): Promise<{ endpoint: string; close(): Promise<void> }> {
  const sockets = new Set<Socket>();
  const server: Server = createServer((socket) => {
    sockets.add(socket);
    socket.on('error', () => undefined);
    socket.once('data', () => socket.write(words));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    endpoint: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    close() {
      for (const socket of sockets) socket.destroy();
      return new Promise((resolve) => server.close(() => resolve()));
    },
  };
}

describe('an S3 server that falls silent is given up', () => {
  it.each([
    ['before it answers', ''],
    ['in the middle of an object', HALF],
  ])(
    '%s',
    async (_when, words) => {
      const mute = await startMute(words);
      const store = new S3Store({ bucket: 'b', endpoint: mute.endpoint, forcePathStyle: true, silenceMs: 200 });
      await expect(store.get('a/b')).rejects.toMatchObject({ code: 'engine_unavailable' });
      store.close();
      await mute.close();
    },
    30_000,
  );
});
