import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';

import { startEtcd, type RunningEngine } from '../../src/engines';
import { freePorts, isListening } from '../../src/engines/ports';
import { useTempDir } from './support/temp-dir';

const dataDir = useTempDir();
let engine: RunningEngine | undefined;
afterEach(() => engine?.stop());

const base64 = (text: string) => Buffer.from(text).toString('base64');

async function call(path: string, body: object): Promise<Record<string, unknown>> {
  const response = await fetch(`http://${engine?.address}/v3/${path}`, { method: 'POST', body: JSON.stringify(body) });
  return (await response.json()) as Record<string, unknown>;
}
const put = (key: string, value: string) => call('kv/put', { key: base64(key), value: base64(value) });
const get = async (key: string) => {
  const { kvs } = (await call('kv/range', { key: base64(key) })) as { kvs?: { value: string }[] };
  return kvs?.[0] && Buffer.from(kvs[0].value, 'base64').toString();
};
const port = () => Number(engine?.address.split(':')[1]);

it('serves on loopback, and frees its port when stopped', async () => {
  engine = await startEtcd({ dataDir: dataDir() });
  expect(engine.address).toMatch(/^127\.0\.0\.1:\d+$/);
  await put('a', '1');
  expect(await get('a')).toBe('1');
  await engine.stop();
  expect(await isListening(port())).toBe(false);
});

it('keeps its keys through a crash and a restart on the same port, and in a new engine on another', async () => {
  engine = await startEtcd({ dataDir: dataDir() });
  const { address, pid } = engine;
  await put('a', '1');
  engine.kill('SIGKILL');
  expect(await engine.exited).toEqual({ code: null, signal: 'SIGKILL' });
  await engine.restart?.();
  expect(engine.address).toBe(address);
  expect(engine.pid).not.toBe(pid);
  expect(await get('a')).toBe('1');
  await engine.stop();
  engine = await startEtcd({ dataDir: dataDir() });
  expect(engine.address).not.toBe(address);
  expect(await get('a')).toBe('1');
});

it('takes a wanted port and quota, and ignores ETCD_ variables', async () => {
  const [wanted] = await freePorts(1);
  const env = { ...process.env, ETCD_LISTEN_CLIENT_URLS: 'http://127.0.0.1:1', ETCD_NAME: 'x' };
  engine = await startEtcd({ dataDir: dataDir(), port: wanted, quotaBackendBytes: 64 * 1024, env });
  expect(port()).toBe(wanted);
  await put('big', 'x'.repeat(100_000));
  expect(await put('more', 'x')).toMatchObject({ error: expect.stringContaining('space exceeded') });
});

it('refuses a port that is in use, and data that is not its own in its own words', async () => {
  engine = await startEtcd({ dataDir: dataDir() });
  const other = join(dataDir(), 'other');
  await expect(startEtcd({ dataDir: other, port: port() })).rejects.toThrow(`port ${port()} is in use`);
  await writeFile(join(other, 'etcd'), 'not a folder');
  await expect(startEtcd({ dataDir: other })).rejects.toMatchObject({
    name: 'EngineStartError',
    message: expect.stringMatching(/ended while it was being started[^]*not a directory/),
  });
});
