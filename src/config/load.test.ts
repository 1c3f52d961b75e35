import { inactiveSettings, loadConfig } from './load';

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
});
