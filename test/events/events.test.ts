import {
  ended,
  ok,
  reach,
  registerAgent,
  startScriptedAgent,
  type ScriptedAgent,
  type SeenCall,
} from '../process/scripted-agent';
import { startGateway, type TestGateway } from '../support/gateway';

interface Message {
  event: string;
  id: string;
  data: { seq: number; [key: string]: unknown };
}

let gateway: TestGateway;
let agent: ScriptedAgent;
let tokens: string[];

beforeAll(async () => {
  gateway = await startGateway();
  agent = await startScriptedAgent();
  await registerAgent(gateway.url, 'worker_bee', { url: agent.url });
});
afterAll(async () => {
  await agent.close();
  await gateway.close();
});
beforeEach(() => {
  tokens = [];
  agent.answerWith(ok);
});

/** Reads a whole event stream; it ends by itself after the terminal event. */
async function stream(id: string, lastEventId?: string): Promise<Message[]> {
  const response = await fetch(`${gateway.url}/v1/reaches/${id}/events`, {
    headers: lastEventId === undefined ? {} : { 'last-event-id': lastEventId },
  });
  expect(response.headers.get('content-type')).toContain('text/event-stream');
  return (await response.text()).split('\n\n').flatMap((block) => {
    const field = (name: string) => new RegExp(`^${name}: ?(.*)$`, 'm').exec(block)?.[1];
    const data = field('data');
    return data
      ? [{ event: field('event') ?? '', id: field('id') ?? '', data: JSON.parse(data) as Message['data'] }]
      : [];
  });
}

const start = async () => (await reach(gateway.url, { ability: 'work', payload: {} }, 'respond-async')).body.reach_id;

describe('the event stream of a reach', () => {
  it('tells acceptance, failed attempts and the end, in order', async () => {
    let calls = 0;
    agent.answerWith((call, response) => {
      calls += 1;
      if (calls === 1) response.writeHead(503).end();
      else ok(call, response);
    });
    const messages = await stream(await start());
    expect(messages.map(({ event }) => event)).toEqual(['accepted', 'routed', 'attempt_failed', 'completed']);
    expect(messages[2]?.data).toMatchObject({ n: 1, code: 'agent_error', received: 'yes' });
    const seqs = messages.map(({ data }) => data.seq);
    expect(seqs).toEqual(seqs.toSorted((a, b) => a - b));
  });

  it('shows that the agent accepted, and the late result once it is delivered', async () => {
    let accepted: () => void = () => undefined;
    const acceptance = new Promise<void>((resolve) => (accepted = resolve));
    agent.answerWith((_call: SeenCall, response) => {
      tokens.push(String(response.req.headers['x-reach-token']));
      response.writeHead(202, { 'content-type': 'application/json' }).end('{"accepted":true}');
      accepted();
    });
    const id = await start();
    await acceptance;
    const reading = stream(id);
    const delivered = await fetch(`${gateway.url}/v1/reaches/${id}/result`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'x-reach-token': tokens[0] ?? '' },
      body: '{"output":{"answer":"later"}}',
    });
    expect(delivered.status).toBe(202);
    const messages = await reading;
    expect(messages.at(-1)).toMatchObject({ event: 'completed', data: { output: { answer: 'later' } } });
    await expect(ended(gateway.url, id)).resolves.toMatchObject({ status: 'completed', answer: 'later' });
  });

  it('resumes after any event without repeating or losing one', async () => {
    const id = await start();
    const all = await stream(id);
    for (const [index, { id: eventId }] of all.entries()) {
      const rest = await stream(id, eventId);
      // After the terminal event there is only the terminal event again: a reader always learns the end.
      const expected = index === all.length - 1 ? all.slice(-1) : all.slice(index + 1);
      expect(rest).toEqual(expected);
    }
  });

  it('gives every reader the whole story, however near to the end it comes', async () => {
    agent.answerWith((call, response) => void setTimeout(() => ok(call, response), 30));
    const id = await start();
    const readers = Array.from({ length: 20 }, async (_, index) => {
      await new Promise((resolve) => setTimeout(resolve, index * 10));
      return stream(id);
    });
    for (const messages of await Promise.all(readers)) {
      expect(messages.map(({ event }) => event)).toEqual(['accepted', 'routed', 'completed']);
    }
  });

  it('refuses what is no event id, and ids of no reach', async () => {
    const id = await start();
    const response = await fetch(`${gateway.url}/v1/reaches/${id}/events`, { headers: { 'last-event-id': 'x' } });
    expect([response.status, ((await response.json()) as { code: string }).code]).toEqual([400, 'invalid_request']);
    const unknown = await fetch(`${gateway.url}/v1/reaches/r-unknown/events`);
    expect(unknown.status).toBe(404);
  });
});
