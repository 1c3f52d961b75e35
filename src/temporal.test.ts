import { createServer, type AddressInfo, type Server } from 'node:net';
import { loadConfig } from './config';
import { connectTemporal } from './temporal';

/** The first byte of a TLS record with a handshake (RFC 8446, 5.1). */
const TLS_HANDSHAKE = 0x16;

let server: Server;
let firstBytes: Promise<Buffer>;
beforeEach(async () => {
  server = createServer();
  firstBytes = new Promise((resolve) =>
    server.on('connection', (socket) => {
      socket.on('error', () => undefined);
      socket.once('data', (data: Buffer) => {
        resolve(data);
        socket.destroy();
      });
    }),
  );
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  process.env.TEST_API_KEY = 'a-key-that-nobody-may-read';
});
afterEach(async () => {
  delete process.env.TEST_API_KEY;
  await new Promise((done) => server.close(done));
});

const sentWith = async (settings: string) => {
  const { port } = server.address() as AddressInfo;
  const config = loadConfig({ text: `temporal: { address: "127.0.0.1:${port}", ${settings} }` });
  const failing = expect(connectTemporal(config)).rejects.toMatchObject({ code: 'engine_unavailable' });
  const bytes = await firstBytes;
  await failing;
  return bytes;
};

it('a key is sent over TLS though nothing is said of it, and never in the clear', async () => {
  const bytes = await sentWith('api_key_env: TEST_API_KEY');
  expect(bytes[0]).toBe(TLS_HANDSHAKE);
  expect(bytes.toString('latin1')).not.toContain('a-key-that-nobody-may-read');
});

it('without a key nothing is encrypted unless it is said', async () => {
  expect((await sentWith('namespace: default')).toString('latin1')).toMatch(/^PRI \* HTTP\/2/);
});

it('a key that is named and not set keeps it from connecting', async () => {
  const config = loadConfig({ text: 'temporal: { api_key_env: TEST_NO_SUCH_KEY }' });
  await expect(connectTemporal(config)).rejects.toMatchObject({ code: 'invalid_request' });
});
