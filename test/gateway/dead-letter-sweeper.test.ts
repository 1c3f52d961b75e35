import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client, Connection } from '@temporalio/client';
import { Registry } from 'prom-client';
import { startTemporal, type RunningEngine } from '../../src/engines';
import { DeadLetterSweeper, type SweeperOptions } from '../../src/gateway/dead-letters/sweeper';
import { NamespaceRetention } from '../../src/gateway/dead-letters/retention';
import { systemClock } from '../../src/registry/clock';
import { DeadLetterStore } from '../../src/registry/dead-letters/dead-letter-store';
import { createDeadLetterMetrics } from '../../src/telemetry/dead-letter-metrics';
import { SEARCH_ATTRIBUTES } from '../../workflows/search-attributes';
import { openPlace, type Place } from '../registry/support';
import { startGateway, type TestGateway } from '../support/gateway';
import { startHttpAgent, type ScriptedHttpAgent } from '../support/scripted-http-agent';
import { waitFor } from '../support/wait-for';

const DAY_MS = 86_400_000;

// A sweep sees the whole namespace, so this suite has a Temporal of its own.
let temporal: RunningEngine;
let gateway: TestGateway;
let agent: ScriptedHttpAgent;
let connection: Connection;
let client: Client;

beforeAll(async () => {
  const dataDir = mkdtempSync(join(tmpdir(), 'agent-reach-sweeper-'));
  temporal = await startTemporal({ dataDir, searchAttributes: SEARCH_ATTRIBUTES });
  gateway = await startGateway({
    temporal: temporal.address,
    config: { dead_letters: { sweep_interval: 1_000, alert_before: 8 * DAY_MS } },
  });
  agent = await startHttpAgent(gateway.api, { name: 'desk' });
  connection = await Connection.connect({ address: temporal.address });
  client = new Client({ connection });
});
afterAll(async () => {
  await agent?.close();
  await gateway?.close();
  await connection?.close();
  await temporal?.stop();
});

let place: Place;
beforeEach(() => void (place = openPlace()));
afterEach(() => place.close());

/** A sweeper beside the gateway's own, with a log that can be looked at. */
function sweeperOf(alertBeforeMs: number, more: Pick<Partial<SweeperOptions>, 'clock' | 'reads'> = {}) {
  const scope = { client, namespace: 'default' };
  const registry = new Registry();
  const retention = new NamespaceRetention({ ...scope, clock: systemClock });
  const keyPrefix = `/${gateway.platform}`;
  const store = new DeadLetterStore({ ...place.options, keyPrefix, retentionSec: async () => 60 });
  const sweeper = new DeadLetterSweeper({
    ...place.options,
    clock: systemClock,
    scope,
    store,
    retention,
    alertBeforeMs,
    intervalMs: 100,
    metrics: createDeadLetterMetrics(registry),
    ...more,
  });
  const metric = async (name: string) => (await registry.getSingleMetric(name)?.get())?.values[0]?.value;
  return { sweeper, metric };
}

async function failed(): Promise<string> {
  agent.plays({ do: 'reject', message: 'no' });
  const { body } = await gateway.api.reach({ ability: agent.ability });
  return body.reach_id as string;
}

async function gauges(): Promise<[number, number]> {
  const { text } = await gateway.api.get('/metrics');
  const value = (name: string) => Number(new RegExp(`^${name} (\\d+)$`, 'm').exec(text)?.[1]);
  return [value('agent_reach_dead_letters'), value('agent_reach_dead_letters_expiring')];
}

it('counts the open ones, and warns of those that retention will take, naming the oldest', async () => {
  const left = (await gateway.api.get('/v1/dead-letters')).body.items as { reach_id: string }[];
  for (const { reach_id } of left)
    await gateway.api.post(`/v1/dead-letters/${reach_id}:discard`, { reason: 'left by a first run that failed' });
  const ids = [await failed(), await failed(), await failed(), await failed()];
  const [oldest, second, discarded, redriven] = ids;
  await waitFor('four of them', async () => (await gauges())[0] === 4);
  await gateway.api.post(`/v1/dead-letters/${discarded}:discard`, { reason: 'given up' });
  agent.plays();
  await gateway.api.post(`/v1/dead-letters/${redriven}:redrive`);
  await gateway.api.ended(redriven ?? '');
  await waitFor('two of them', async () => JSON.stringify(await gauges()) === '[2,2]');

  // Seven days of retention: with eight days of warning all are about to go, with six none is.
  const { sweeper } = sweeperOf(8 * DAY_MS);
  const letter = (await gateway.api.get(`/v1/dead-letters/${oldest}`)).body;
  expect(await sweeper.sweep()).toEqual({
    open: 2,
    expiring: [
      { reach_id: oldest, expires_at: letter.expires_at },
      { reach_id: second, expires_at: expect.any(String) },
    ],
    truncated: false,
  });
  expect(await sweeperOf(6 * DAY_MS).sweeper.sweep()).toEqual({ open: 2, expiring: [], truncated: false });

  sweeper.start();
  const [line] = await waitFor('the alert', () =>
    place.options.logger.lines.length > 0 ? place.options.logger.lines : null,
  );
  expect(line).toMatchObject({
    details: { open: 2, expiring: 2, oldest: [oldest, second], first_expires_at: letter.expires_at },
    message: expect.stringMatching(/^2 dead letters will be removed by retention.*redrive or discard/),
  });
  // The same finding is not told with every sweep.
  await new Promise((done) => setTimeout(done, 500));
  expect(place.options.logger.lines).toHaveLength(1);
  await sweeper.stop();
});

it('finds those that are about to expire behind more newer ones than a sweep reads', async () => {
  const oldest = await failed();
  await new Promise((done) => setTimeout(done, 50));
  const between = new Date();
  await new Promise((done) => setTimeout(done, 50));
  const newer = [await failed(), await failed(), await failed()];
  await waitFor('all in visibility', async () => {
    const { body } = await gateway.api.get(`/v1/dead-letters?since=${between.toISOString()}`);
    return body.items.length === newer.length;
  });
  // Seven days of retention: what ended before `between` is about to go.
  const clock = { ...systemClock, wall: () => between };
  const reads = { pages: 1, pageSize: 2 };
  const { sweeper, metric } = sweeperOf(7 * DAY_MS, { clock, reads });
  const found = await sweeper.sweep();
  expect(found).toMatchObject({ truncated: true });
  const expiring = found.expiring.map(({ reach_id }) => reach_id);
  expect(expiring).toContain(oldest);
  expect(newer.filter((id) => expiring.includes(id))).toEqual([]);
  const whole = await sweeperOf(7 * DAY_MS, { clock }).sweeper.sweep();
  expect(whole.truncated).toBe(false);
  expect(whole.open).toBeGreaterThan(newer.length);
  expect(whole.expiring).toEqual(expect.arrayContaining(found.expiring));

  sweeper.start();
  const [line] = await waitFor('the alert', () =>
    place.options.logger.lines.length > 0 ? place.options.logger.lines : null,
  );
  expect(line?.details).toMatchObject({ truncated: true, oldest: expect.arrayContaining([oldest]) });
  expect(await metric('agent_reach_dead_letters_truncated')).toBe(1);
  await sweeper.stop();
  const { text } = await gateway.api.get('/metrics');
  expect(text).toMatch(/^agent_reach_dead_letters_truncated 0$/m);
});

it('is one for all gateways; another takes over when it stops', async () => {
  await failed();
  const [one, two] = [sweeperOf(DAY_MS), sweeperOf(DAY_MS)];
  one.sweeper.start();
  await waitFor('the first count', async () => ((await one.metric('agent_reach_dead_letters')) ?? 0) > 0);
  two.sweeper.start();
  await new Promise((done) => setTimeout(done, 500));
  expect(await two.metric('agent_reach_dead_letters')).toBe(0);
  await one.sweeper.stop();
  await waitFor('the take-over', async () => ((await two.metric('agent_reach_dead_letters')) ?? 0) > 0);
  await two.sweeper.stop();
});
