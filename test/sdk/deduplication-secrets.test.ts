/** What an agent's own Redis refuses is logged, without what was sent to it: its password, keys and answers. */
import { Writable } from 'node:stream';
import { Redis } from 'ioredis';
import pino from 'pino';
import { ReachAgent, type AgentHandler } from '../../src/sdk/agent';
import { RedisDeduplicationStore } from '../../src/sdk/dedup/redis';
import { redisProgram, startRedis, type RedisServer } from '../contract/redis-server';
import type { ScriptedGateway } from './scripted-gateway';
import { call, echoDescriptor, startRegistry } from './scripted-registry';

const PASSWORD = 'S3CRETPASS';
const IBAN = 'DE02-CUSTOMER-IBAN';

const program = redisProgram();
(program === undefined ? describe.skip : describe)('the log of an agent (needs redis-server on PATH)', () => {
  let redis: RedisServer;
  let admin: Redis;
  let gateway: ScriptedGateway;
  let store: RedisDeduplicationStore;
  let agent: ReachAgent;
  let logged: string;
  const sink = new Writable({ write: (chunk, _, done) => ((logged += String(chunk)), done()) });

  beforeAll(async () => {
    redis = await startRedis(program!);
    admin = new Redis(redis.url);
    await admin.call('ACL', 'SETUSER', 'refunds', 'on', '>another', '~*', '+@all');
  });
  beforeEach(async () => {
    logged = '';
    ({ gateway } = await startRegistry());
  });
  afterEach(async () => {
    await agent?.stop();
    await store?.close();
    await gateway?.close();
  });
  afterAll(async () => {
    admin?.disconnect();
    await redis?.kill();
  });

  /** The status of one call, at an agent that logs as agents do, with its records in Redis. */
  async function answered(url: string, handler: AgentHandler, more: object): Promise<number> {
    store = new RedisDeduplicationStore({ url });
    agent = new ReachAgent({
      descriptor: echoDescriptor('http'),
      gateway: gateway.url,
      handlers: { echo: handler },
      deduplication: store,
      log: pino(sink),
    });
    await agent.start();
    const headers = { 'content-type': 'application/json' };
    const body = JSON.stringify(call({ deadline_ms: 60_000, ...more }));
    return (await fetch(agent.url ?? '', { method: 'POST', headers, body })).status;
  }

  it('does not have the password that Redis refused', async () => {
    const url = redis.url.replace('//', `//refunds:${PASSWORD}@`);
    expect(await answered(url, () => ({ iban: IBAN }), { delivery_semantics: 'exactly_once' })).toBe(429);
    expect(logged).toContain('The deduplication store could not be asked');
    // What the agent gets to log depends on when its patience ends; each of them must be fit for it.
    const request = { key: 'k', fence: '1'.repeat(19), ttlMs: 60_000 };
    for (let n = 0; n < 10 && !logged.includes('WRONGPASS'); n += 1) {
      const refused: unknown = await store.begin(request).catch((caught: unknown) => caught);
      pino(sink).warn({ err: refused });
      const kept: unknown = await store.complete({ ...request, output: { iban: IBAN } }).catch((err: unknown) => err);
      pino(sink).warn({ err: kept });
    }
    expect(logged).toContain('WRONGPASS');
    expect(logged).not.toContain(PASSWORD);
    expect(logged).not.toContain(IBAN);
  });

  it('does not have the answer that Redis has no room for', async () => {
    const handler = async () => {
      await admin.config('SET', 'maxmemory', '1');
      return { iban: IBAN };
    };
    expect(await answered(redis.url, handler, { idempotency_key: 'k-oom' })).toBe(200);
    expect(logged).toContain('could not be recorded');
    expect(logged).toContain('OOM');
    expect(logged).not.toContain(IBAN);
  });
});
