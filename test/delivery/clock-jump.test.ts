/** T06, fault 14: a worker whose wall clock is off does its work as ever; libfaketime moves it. */
import { spawn, type ChildProcess } from 'node:child_process';
import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import { writeConfig, startRoot, type PlatformProcess } from '../process/platform-process';
import { ended, ok, reach, registerAgent, startScriptedAgent, type ScriptedAgent } from '../process/scripted-agent';

const LIBRARY = [
  '/usr/lib/x86_64-linux-gnu/faketime/libfaketimeMT.so.1',
  '/usr/lib/aarch64-linux-gnu/faketime/libfaketimeMT.so.1',
].find(existsSync);

/** Without the library (Debian: `apt-get install libfaketime`) these are reported as skipped. */
const describeWithFaketime = LIBRARY ? describe : describe.skip;

async function startShiftedWorker(config: string, shift: string): Promise<ChildProcess> {
  const script = resolve(__dirname, '../../dist/src/worker.js');
  const child = spawn(process.execPath, [script, '--config', config], {
    stdio: ['ignore', 'pipe', 'inherit'],
    env: { ...process.env, LD_PRELOAD: LIBRARY, FAKETIME: shift, FAKETIME_DONT_FAKE_MONOTONIC: '1' },
  });
  await new Promise<void>((done, fail) => {
    child.stdout?.once('data', () => done());
    child.once('exit', (code) => fail(new Error(`the worker ended with ${code}`)));
  });
  return child;
}

describeWithFaketime.each(['+1h', '-10m'])('a worker whose clock is off by %s', (shift) => {
  let gateway: PlatformProcess;
  let worker: ChildProcess;
  let agent: ScriptedAgent;
  const ability = 'timed.work';

  beforeAll(async () => {
    const config = writeConfig();
    gateway = await startRoot('gateway', ['--config', config, '--no-worker']);
    worker = await startShiftedWorker(config, shift);
    agent = await startScriptedAgent();
    await registerAgent(gateway.ready, 'timed', { url: agent.url, capability: { name: ability } });
  });
  beforeEach(() => agent.answerWith(ok));
  afterAll(async () => {
    const gone = new Promise((done) => worker.once('exit', done));
    worker.kill('SIGKILL');
    await gone;
    await agent.close();
    await gateway.kill('SIGTERM');
  });

  it('really is off', async () => {
    agent.answerWith((_call, response) => void response.writeHead(422).end('no'));
    const { body } = await reach(gateway.ready, { ability, payload: {} }, 'wait=20');
    const [attempt] = body.attempts as unknown as { started_at: string }[];
    const offMs = Date.parse(attempt!.started_at) - Date.now();
    expect(Math.abs(offMs)).toBeGreaterThan(590_000);
  });

  it('calls once, within its time, and measures sane durations', async () => {
    for (let i = 0; i < 5; i += 1) {
      const { status, body } = await reach(gateway.ready, { ability, payload: { i }, timeout_ms: 30_000 }, 'wait=20');
      expect([status, body.status, body.attempts]).toEqual([200, 'completed', 1]);
      const durationMs = Number(body.duration_ms);
      expect(durationMs).toBeGreaterThanOrEqual(0);
      expect(durationMs).toBeLessThan(20_000);
    }
    const known = (await (await fetch(`${gateway.ready}/v1/agents/timed`)).json()) as {
      abilities: { stats: Record<string, number | null>; breaker?: { state: string } }[];
      stats: Record<string, number | null>;
    };
    for (const value of [known.stats, ...known.abilities.map(({ stats }) => stats)].flatMap((one) =>
      Object.values(one ?? {}),
    )) {
      if (value === null || typeof value !== 'number') continue;
      expect(value).toBeGreaterThanOrEqual(0);
      expect(value).toBeLessThan(20_000);
    }
    expect(known.abilities[0]?.breaker?.state ?? 'closed').toBe('closed');
  });

  it('tells the agent what is left, not when it ends', async () => {
    const before = agent.seen.length;
    await reach(gateway.ready, { ability, payload: {}, timeout_ms: 30_000 }, 'wait=20');
    const left = (agent.seen[before]?.body as unknown as { deadline_ms: number }).deadline_ms;
    expect(left).toBeGreaterThan(0);
    expect(left).toBeLessThanOrEqual(15_000);
  });

  it('issues a token with which the late result is taken', async () => {
    const token = new Promise<string>((done) =>
      agent.answerWith((_call, response) => {
        done(String(response.req.headers['x-reach-token']));
        response.writeHead(202, { 'content-type': 'application/json' }).end('{"accepted":true}');
      }),
    );
    const { body } = await reach(gateway.ready, { ability, payload: {}, timeout_ms: 60_000 }, 'respond-async');
    const delivered = await fetch(`${gateway.ready}/v1/reaches/${body.reach_id}/result`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'x-reach-token': await token },
      body: '{"output":{"answer":"later"}}',
    });
    expect([delivered.status, await delivered.text()]).toEqual([202, expect.anything()]);
    expect(await ended(gateway.ready, body.reach_id)).toMatchObject({ status: 'completed', answer: 'later' });
  });

  it('retries after the usual backoff', async () => {
    let calls = 0;
    const startedMs = performance.now();
    agent.answerWith((call, response) => {
      calls += 1;
      if (calls < 3) response.writeHead(503).end();
      else ok(call, response);
    });
    const { body } = await reach(gateway.ready, { ability, payload: {}, timeout_ms: 30_000 }, 'wait=20');
    expect(body).toMatchObject({ status: 'completed', attempts: 3 });
    expect(performance.now() - startedMs).toBeLessThan(10_000);
  });
});
