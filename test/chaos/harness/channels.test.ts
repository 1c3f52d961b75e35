import { createServer, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { ReachStatus } from '../../../src/protocol/shapes';
import { deadLetters, listedEnds, streamedEnds } from './channels';

const LIMITS = { listedMs: 600, streamMs: 300 };
/** What a gateway answers to a path; null leaves the answer open. */
type Answers = Record<string, (response: ServerResponse, count: number) => void>;

let server: Server | undefined;
afterEach(() => {
  server?.closeAllConnections();
  server?.close();
});

async function gateway(answers: Answers): Promise<string> {
  const counts = new Map<string, number>();
  server = createServer(({ url = '' }, response) => {
    const count = (counts.get(url) ?? 0) + 1;
    counts.set(url, count);
    answers[url]?.(response, count);
  });
  await new Promise<void>((done) => server!.listen(0, '127.0.0.1', done));
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

const json = (body: object) => (response: ServerResponse) => void response.end(JSON.stringify(body));
const events = (...items: [name: string, data: object][]) =>
  items.map(([name, data]) => `id: 1.0\nevent: ${name}\ndata: ${JSON.stringify(data)}\n\n`).join('');

describe('streams', () => {
  const completed = events(['accepted', {}], ['completed', { output: { output_id: 'w' }, degraded: true }]);

  it('end with the status, the work and the mark of a fallback', async () => {
    const url = await gateway({ '/v1/reaches/r-1/events': (response) => response.end(completed) });
    expect(await streamedEnds([url], ['r-1'], LIMITS)).toEqual([
      { reach_id: 'r-1', channel: 'events', status: 'completed', output_id: 'w', degraded: true, settled: true },
    ]);
  });

  it('that tell the end and do not end themselves say nothing', async () => {
    const url = await gateway({ '/v1/reaches/r-1/events': (response) => response.write(completed) });
    expect(await streamedEnds([url], ['r-1'], LIMITS)).toEqual([]);
  });

  it('that end before the reach has are told as they are', async () => {
    const text = events(['accepted', {}], ['attempt_failed', {}]);
    const url = await gateway({ '/v1/reaches/r-1/events': (response) => response.end(text) });
    expect(await streamedEnds([url], ['r-1'], LIMITS)).toMatchObject([{ status: 'attempt_failed' }]);
  });

  it('that are broken off are looked at once more', async () => {
    const url = await gateway({
      '/v1/reaches/r-1/events': (response, count) => (count === 1 ? response.destroy() : response.end(completed)),
    });
    expect(await streamedEnds([url], ['r-1'], LIMITS)).toHaveLength(1);
  });
});

describe('the list', () => {
  const path = '/v1/reaches?ability=a&limit=200';
  const row = (reach_id: string, status: string) => ({ reach_id, status });
  const read = (url: string, expected: [string, ReachStatus | null][]) =>
    listedEnds(url, ['a'], { expected: new Map(expected), limits: LIMITS });

  it('is read until it agrees, over all pages', async () => {
    const url = await gateway({
      [path]: (response, count) =>
        json({ items: [row('r-1', count === 1 ? 'running' : 'completed')], next_cursor: 'n' })(response),
      [`${path}&cursor=n`]: json({ items: [row('r-2', 'expired'), row('r-9', 'completed')] }),
    });
    const seen = await read(url, [
      ['r-1', 'completed'],
      ['r-2', null],
    ]);
    expect(seen.map(({ reach_id, status }) => `${reach_id} ${status}`)).toEqual(['r-1 completed', 'r-2 expired']);
  });

  it('has no line for what it forgot, nor for anything when it cannot be read', async () => {
    const forgetful = await gateway({ [path]: json({ items: [row('r-1', 'completed')] }) });
    expect(
      await read(forgetful, [
        ['r-1', 'completed'],
        ['r-2', 'completed'],
      ]),
    ).toHaveLength(1);
    server?.close();
    const broken = await gateway({ [path]: (response) => void response.writeHead(503).end('{}') });
    expect(await read(broken, [['r-1', 'completed']])).toEqual([]);
  });
});

it('dead letters are those that are open and those that were discarded, of these abilities', async () => {
  const item = (reach_id: string, state: string, ability = 'a') => ({ reach_id, state, ability });
  const url = await gateway({
    '/v1/dead-letters?state=open&limit=200': (response, count) =>
      json({ items: count === 1 ? [] : [item('r-1', 'open'), item('r-3', 'open', 'other')] })(response),
    '/v1/dead-letters?state=discarded&limit=200': json({ items: [item('r-2', 'discarded')] }),
  });
  expect(await deadLetters(url, ['a'], { expected: ['r-1'], limits: LIMITS })).toEqual([
    { reach_id: 'r-1', state: 'open' },
    { reach_id: 'r-2', state: 'discarded' },
  ]);
});
