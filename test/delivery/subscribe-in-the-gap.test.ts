/** W06: whenever one begins to listen, one hears everything once, and the end. */
import { setTimeout as sleep } from 'node:timers/promises';
import { startGateway, type TestGateway } from '../support/gateway';
import { expectProblem } from '../support/problem';
import { startHttpAgent, type ScriptedHttpAgent } from '../support/scripted-http-agent';
import { waitFor } from '../support/wait-for';
import { readEvents } from './event-stream';

jest.setTimeout(180_000);

const RUNS = 100;
const STORY = ['accepted', 'routed', 'attempt_failed', 'completed'];

let gateway: TestGateway;
let agent: ScriptedHttpAgent;

beforeAll(async () => {
  gateway = await startGateway({ config: { breaker: { enabled: false } } });
  agent = await startHttpAgent(gateway.api, { name: 'told' });
});
afterAll(async () => {
  await agent.close();
  await gateway.close();
});

let serial = 0;
/** A reach that fails once and completes a good 100 ms later. */
async function start(): Promise<string> {
  serial += 1;
  const name = `n-${serial}`;
  agent.playsFor(name, { do: 'fail', message: 'first' }, { do: 'answer', output: { answer: 'done' } });
  const { body } = await gateway.api.reach(
    { ability: agent.ability, payload: { case: name }, timeout_ms: 30_000 },
    { prefer: 'respond-async' },
  );
  return body.reach_id as string;
}

it(`${RUNS} subscriptions at random moments around the end`, async () => {
  const listen = async (offsetMs: number) => {
    const id = await start();
    await sleep(offsetMs);
    const startedAt = performance.now();
    const told = await readEvents(gateway.url, id);
    return { told, ms: performance.now() - startedAt };
  };
  for (let done = 0; done < RUNS; done += 4) {
    const batch = await Promise.all([1, 2, 3, 4].map(() => listen(Math.random() * 500)));
    for (const { told, ms } of batch) {
      expect(told.map(({ event }) => event)).toEqual(STORY);
      expect(new Set(told.map(({ id }) => id)).size).toBe(STORY.length);
      expect(ms).toBeLessThan(10_000);
    }
  }
});

describe('Last-Event-ID after the end', () => {
  let id: string;
  let ids: string[];

  beforeAll(async () => {
    id = await start();
    await gateway.api.ended(id);
    ids = (await readEvents(gateway.url, id)).map((event) => event.id);
  });
  const names = async (last: string) => (await readEvents(gateway.url, id, last)).map(({ event }) => event);

  it('none, or the one before the first: the whole story', async () => {
    expect(await names('')).toEqual(STORY);
    expect(await names('0')).toEqual(STORY);
    expect(await names('0.0')).toEqual(STORY);
  });

  it('the number of an event alone: what comes after everything with that number', async () => {
    const seqs = ids.map((one) => Number(one.split('.')[0]));
    const after = STORY.filter((_, index) => seqs[index]! > seqs[1]!);
    expect(await names(String(seqs[1]))).toEqual(after);
  });

  it('each: what comes after it, and at least the end', async () => {
    for (const [index, last] of ids.entries())
      expect(await names(last)).toEqual(index === STORY.length - 1 ? ['completed'] : STORY.slice(index + 1));
  });

  it.each(['999999', '999999.0'])('%s, beyond the end: only the end', async (last) => {
    expect(await names(last)).toEqual(['completed']);
  });

  it.each(['-1', 'garbage', '1.2.3', '1e3', '9'.repeat(400), '१.०'])('%s is refused', async (last) => {
    const answer = await gateway.api.get(`/v1/reaches/${id}/events`, { headers: { 'last-event-id': encode(last) } });
    expectProblem(answer, 'invalid_request');
  });
});

/** As a client would put it into a header: UTF-8 bytes as Latin-1. */
const encode = (text: string) => Buffer.from(text, 'utf8').toString('latin1');

it('a stream begins before there is anything to tell, and a reader may leave it then', async () => {
  const held = await startHttpAgent(gateway.api, { name: 'quiet' });
  held.plays({ do: 'hang' });
  const { body } = await gateway.api.reach(
    { ability: held.ability, payload: { case: 'quiet' }, timeout_ms: 60_000 },
    { prefer: 'respond-async' },
  );
  await waitFor('the agent to be called', () => held.journalOf('quiet')[0]);
  const leaving = Array.from({ length: 10 }, async () => {
    const left = new AbortController();
    const headers = { 'last-event-id': '999999' };
    const url = `${gateway.url}/v1/reaches/${body.reach_id}/events`;
    const { status, headers: told } = await fetch(url, { headers, signal: left.signal });
    expect([status, told.get('content-type')]).toEqual([200, 'text/event-stream']);
    left.abort();
  });
  await Promise.all(leaving);
  await gateway.api.post(`/v1/reaches/${body.reach_id}:cancel`);
  expect((await readEvents(gateway.url, body.reach_id, '999999')).map(({ event }) => event)).toEqual(['cancelled']);
  await held.close();
});

it('a reader who leaves early leaves nothing behind', async () => {
  const held = await startHttpAgent(gateway.api, { name: 'left' });
  held.plays({ do: 'hang' });
  const { body } = await gateway.api.reach({ ability: held.ability, timeout_ms: 60_000 }, { prefer: 'respond-async' });
  const leaving = Array.from({ length: 20 }, async () => {
    const left = new AbortController();
    const response = await fetch(`${gateway.url}/v1/reaches/${body.reach_id}/events`, { signal: left.signal });
    await response.body?.getReader().read();
    left.abort();
  });
  await Promise.all(leaving);
  await gateway.api.post(`/v1/reaches/${body.reach_id}:cancel`);
  expect((await readEvents(gateway.url, body.reach_id)).at(-1)?.event).toBe('cancelled');
  await held.close();
});
