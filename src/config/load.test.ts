import { inactiveSettings, loadConfig, withoutEngines, withoutOverrides } from './load';

const problem = (text: string) => {
  try {
    loadConfig({ text });
  } catch (error) {
    return error as Error & { code: string; options: { errors: { pointer: string; message: string; fix?: string }[] } };
  }
  throw new Error('the configuration was accepted');
};

describe('the configuration', () => {
  it('needs no file: every setting has a default', () => {
    const config = loadConfig({});
    expect(config.server).toMatchObject({ host: '127.0.0.1', port: 8080, graceful_timeout: 15_000 });
    expect(config.registry).toMatchObject({ refresh_interval: 10_000, health_threshold: 0.3 });
    expect(config.router).toMatchObject({
      default_strategy: 'score_based',
      fallback_strategy: 'round_robin',
      weights: { semantic_similarity: 0.6, latency_score: 0.2, reliability_score: 0.2 },
    });
    expect(config.security).toMatchObject({ egress_allow: [], token_env_allow: [] });
  });

  it.each([
    ['15s', 15_000],
    ['250ms', 250],
    ['1.5s', 1_500],
    ['2m', 120_000],
    ['1h', 3_600_000],
    ['40', 40],
  ])('reads the duration %s as %i ms', (text, ms) => {
    expect(loadConfig({ text: `server: { graceful_timeout: ${text} }` }).server.graceful_timeout).toBe(ms);
  });

  it('names unknown keys with the nearest known one', () => {
    const { options } = problem('server: { prot: 1 }');
    expect(options.errors[0]).toMatchObject({
      pointer: '/server/prot',
      fix: expect.stringContaining('port') as string,
    });
  });

  it.each([
    ['server: { port: 70000 }', '/server/port'],
    ['server: { graceful_timeout: 15 parsecs }', '/server/graceful_timeout'],
    ['registry: { health_threshold: 2 }', '/registry/health_threshold'],
    ['router: { weights: { semantic_similarity: 0, latency_score: 0, reliability_score: 0 } }', '/router/weights'],
    ['router: { weights: { latency_score: -1 } }', '/router/weights/latency_score'],
    ['router: { enabled_factors: [luck] }', '/router/enabled_factors/0'],
    ['dead_letters: { sweep_interval: 0 }', '/dead_letters/sweep_interval'],
    ['registry: { refresh_interval: 0 }', '/registry/refresh_interval'],
    ['registry: { refresh_interval: 720h }', '/registry/refresh_interval'],
    ['dead_letters: { sweep_interval: 720h }', '/dead_letters/sweep_interval'],
    ['payloads: { sweep_interval: 720h }', '/payloads/sweep_interval'],
    ['payloads: { upload_ttl: 59s }', '/payloads/upload_ttl'],
    ['canary: { auto_rollback: { interval: 720h } }', '/canary/auto_rollback/interval'],
    ['server: { graceful_timeout: 720h }', '/server/graceful_timeout'],
    ['bulkhead: { queue_wait: 720h }', '/bulkhead/queue_wait'],
    ['embeddings: { timeout: 0 }', '/embeddings/timeout'],
    ['callbacks: { timeout: 720h, max_age: 720h }', '/callbacks/timeout'],
    ['temporal: { address: "ns.tmprl.cloud:7233", api_key_env: KEY, tls: false }', '/temporal/tls'],
  ])('refuses %s at %s', (text, pointer) => {
    const { code, options } = problem(text);
    expect(code).toBe('invalid_request');
    expect(options.errors.map((error) => error.pointer)).toContain(pointer);
  });

  it.each(['server: [', 'a: 1\na: 2', '- a', 'server: { port: 1, port: 2 }'])('refuses %j as a document', (text) => {
    expect(problem(text).code).toMatch(/invalid_request|duplicate_key/);
  });

  it('tells which settings of a file nothing acts on yet', () => {
    const text = 'server: { port: 1 }\nrouter: { exploration: { rate: 0.2 } }\nadapter: { stream_enabled: false }';
    expect(inactiveSettings({ text })).toEqual(['adapter.stream_enabled']);
    expect(inactiveSettings({ text: '' })).toEqual([]);
  });

  it('lets flags win over the environment, and the environment over the file', () => {
    const text = 'server: { port: 1 }\ntemporal: { address: "a:1" }';
    const env = { AGENT_REACH_PORT: '2', TEMPORAL_ADDRESS: 'b:2', AGENT_REACH_ETCD: 'x:1, y:2' };
    const config = loadConfig({ text, env, overrides: { server: { port: 3 } } });
    expect(config.server.port).toBe(3);
    expect(config.temporal.address).toBe('b:2');
    expect(config.registry.etcd).toEqual(['x:1', 'y:2']);
  });

  it('leaves TLS to the key unless it is told, and lets a key go in the clear on loopback only', () => {
    const tlsOf = (text: string) => loadConfig({ text: `temporal: { ${text} }` }).temporal.tls;
    expect(tlsOf('address: "ns.tmprl.cloud:7233", api_key_env: KEY')).toBeUndefined();
    expect(tlsOf('address: "ns.tmprl.cloud:7233", api_key_env: KEY, tls: true')).toBe(true);
    expect(tlsOf('address: "ns.tmprl.cloud:7233", tls: false')).toBe(false);
    expect(tlsOf('address: "127.0.0.1:7233", api_key_env: KEY, tls: false')).toBe(false);
  });

  it('can be kept from the engines, or from anything, that the environment names', () => {
    const env = {
      PATH: '/bin',
      TEMPORAL_ADDRESS: 'prod:7233',
      TEMPORAL_NAMESPACE: 'prod',
      AGENT_REACH_ETCD: 'prod:2379',
      AGENT_REACH_EMBEDDINGS_URL: 'http://prod/v1',
      AGENT_REACH_PORT: '1',
      AGENT_REACH_HOST: '0.0.0.0',
      AGENT_REACH_LOG_LEVEL: 'debug',
    };
    const { PATH, AGENT_REACH_EMBEDDINGS_URL, AGENT_REACH_PORT, AGENT_REACH_HOST, AGENT_REACH_LOG_LEVEL } = env;
    const own = { PATH, AGENT_REACH_PORT, AGENT_REACH_HOST, AGENT_REACH_LOG_LEVEL };
    expect(withoutEngines(env, { embeddings: true })).toEqual(own);
    expect(withoutEngines(env, { embeddings: false })).toEqual({ ...own, AGENT_REACH_EMBEDDINGS_URL });
    expect(withoutOverrides(env)).toEqual({ PATH });
  });
});
