import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { markOf } from './agent-script';
import { Caller, type Message } from './caller';

const message: Message = {
  ...{ key: 'k', ability: 'a', semantics: 'at_least_once', timeoutMs: 1_000, waitSec: null },
  script: { plan: [], work_ms: 1, tag: 't' },
};
const accepted = { status: 202, body: { reach_id: 'r-1', status: 'accepted', replayed: true } };
const refused = (status: number, code: string) => ({ status, body: { code, retry_after_ms: 1, detail: 'oh' } });

let server: Server | undefined;
afterEach(() => {
  server?.closeAllConnections();
  server?.close();
});

/** A gateway that gives these answers in turn; null breaks the connection off. */
async function gateway(answers: ({ status: number; body: object } | null)[]): Promise<string> {
  let turn = 0;
  server = createServer((request, response) => {
    request.resume().on('end', () => {
      const answer = answers[Math.min(turn, answers.length - 1)];
      turn += 1;
      if (!answer) return void response.destroy();
      response.writeHead(answer.status).end(JSON.stringify(answer.body));
    });
  });
  await new Promise<void>((done) => server!.listen(0, '127.0.0.1', done));
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

it.each<[what: string, before: { status: number; body: object } | null, doubtful: boolean]>([
  ['a refusal at the door', refused(503, 'overloaded'), false],
  ['a start that was not confirmed', refused(503, 'engine_unavailable'), true],
  ['a crash', refused(500, 'internal'), true],
  ['a connection that was broken off', null, true],
])('after %s, the next try may be called a repeat: %#', async (_what, before, doubtful) => {
  const sent = await new Caller([await gateway([before, accepted])]).send(message);
  expect(sent).toMatchObject({ tries: 2, doubtful, receipt: { tag: markOf(message.script), replayed: true } });
});

it('a reach that ended badly was accepted, and what told so is a receipt', async () => {
  const body = { code: 'agent_rejected', reach_id: 'r-1', reach_status: 'dead_lettered', degraded: false };
  const sent = await new Caller([await gateway([{ status: 502, body }])]).send(message);
  expect(sent.receipt).toMatchObject({ reach_id: 'r-1', status: 502, reach_status: 'dead_lettered', replayed: false });
  expect(sent.sighting).toMatchObject({ channel: 'post', status: 'dead_lettered', settled: false });
});

it('tells of every answer of 500, to a POST and to a GET, and of no other', async () => {
  const defects: string[] = [];
  const done = { status: 200, body: { status: 'completed', output: { output_id: 'w' }, degraded: false } };
  const answers = [refused(500, 'internal'), refused(503, 'overloaded'), accepted, refused(500, 'internal'), done];
  const caller = new Caller([await gateway(answers)], undefined, (what) => defects.push(what));
  await caller.send(message);
  expect(await caller.ended('r-1', 5_000)).toMatchObject({ status: 'completed', output_id: 'w', degraded: false });
  expect(defects).toEqual(['POST answered 500 internal: oh', 'GET answered 500 internal: oh']);
});

it('a reach that stays running is seen by nobody as ended', async () => {
  const url = await gateway([{ status: 200, body: { status: 'running' } }]);
  expect(await new Caller([url]).ended('r-1', 200)).toBeNull();
});
