import { writeFileSync, mkdtempSync } from 'node:fs';
import { createServer, type AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { stringify } from 'yaml';
import { loadConfig, withoutEngines } from './config';
import { assertPortFree, devSettings, listeningPlace, readOwnSettings } from './dev-config';

const engines = {
  temporal: { address: '127.0.0.1:7001', uiUrl: 'http://127.0.0.1:7002' },
  etcd: { address: '127.0.0.1:7003' },
  embeddings: { address: 'http://127.0.0.1:7004/v1' },
};

describe('what dev hands to its gateway', () => {
  const own = {
    temporal: { address: 'prod:7233', namespace: 'prod', tls: true, api_key_env: 'PROD_KEY', task_queue: 'mine' },
    registry: { etcd: ['prod:2379'], key_prefix: '/mine' },
  };
  // What a shell of someone has who looks after another platform too.
  const shell = {
    TEMPORAL_ADDRESS: '127.0.0.1:9',
    TEMPORAL_NAMESPACE: 'prod',
    AGENT_REACH_ETCD: '127.0.0.1:9',
    AGENT_REACH_EMBEDDINGS_URL: 'http://127.0.0.1:9/v1',
  };

  it('leads to its own engines, whatever file and shell point at', () => {
    const text = stringify(devSettings(own, engines, '/data'));
    const config = loadConfig({ text, env: withoutEngines(shell, { embeddings: true }) });
    expect(config.temporal).toEqual({
      address: '127.0.0.1:7001',
      agents_address: '127.0.0.1:7001',
      ui_url: 'http://127.0.0.1:7002',
      namespace: 'default',
      task_queue: 'mine',
    });
    expect(config.registry).toMatchObject({ etcd: ['127.0.0.1:7003'], key_prefix: '/mine' });
    expect(config.embeddings.url).toBe('http://127.0.0.1:7004/v1');
  });

  it('is the endpoint of the shell where dev has no embedding engine', () => {
    const text = stringify(devSettings({}, { ...engines, embeddings: undefined }, '/data'));
    const env = withoutEngines(shell, { embeddings: false });
    expect(loadConfig({ text, env }).embeddings.url).toBe(shell.AGENT_REACH_EMBEDDINGS_URL);
  });
});

describe('where dev listens', () => {
  it('says the flag, else the environment, else the file, else the default', () => {
    const own = { server: { port: 1 } };
    const env = { AGENT_REACH_PORT: '2', TEMPORAL_ADDRESS: 'prod:7233' };
    expect(listeningPlace(own, { port: 3, env })).toMatchObject({ host: '127.0.0.1', port: 3 });
    expect(listeningPlace(own, { env }).port).toBe(2);
    expect(listeningPlace(own, { env: {} }).port).toBe(1);
    expect(listeningPlace({}, { env: {} }).port).toBe(8080);
  });

  it('is asked of a file that is wrong as a whole before anything is started', () => {
    const file = join(mkdtempSync(join(tmpdir(), 'dev-config-')), 'reach.yaml');
    expect(() => readOwnSettings(file)).toThrow(expect.objectContaining({ code: 'invalid_request' }));
    writeFileSync(file, 'router: { default_strategy: luck }');
    const own = readOwnSettings(file);
    expect(() => listeningPlace(own, { env: {}, fileName: file })).toThrow(
      expect.objectContaining({ code: 'invalid_request', message: expect.stringContaining(file) as string }),
    );
    expect(readOwnSettings(undefined)).toEqual({});
  });

  it('is refused with what is wrong about it', async () => {
    const taken = createServer();
    await new Promise<void>((done) => taken.listen(0, '127.0.0.1', done));
    const { port } = taken.address() as AddressInfo;
    await expect(assertPortFree({ host: '127.0.0.1', port })).rejects.toThrow(`port ${port} is in use`);
    await new Promise((done) => taken.close(done));
    await expect(assertPortFree({ host: '127.0.0.1', port })).resolves.toBeUndefined();
    // TEST-NET-1 (RFC 5737) is no machine's.
    await expect(assertPortFree({ host: '192.0.2.1', port: 0 })).rejects.toThrow('no address of this machine');
  });
});
