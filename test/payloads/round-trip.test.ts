import { randomUUID } from 'node:crypto';
import { AgentReachClient } from '../../src/sdk/client';
import type { ReachAgent } from '../../src/sdk/agent';
import { reachHistory } from './history';
import { startGateway, type TestGateway } from '../support/gateway';
import { sha256, startAgent, uploadChunks } from './support';

let gateway: TestGateway;
let client: AgentReachClient;
const agents: ReachAgent[] = [];

const PROTOCOLS = ['http', 'worker'] as const;
const echo = (protocol: string) => `echo_${protocol}`;

beforeAll(async () => {
  gateway = await startGateway();
  client = new AgentReachClient({ url: gateway.url });
  for (const protocol of PROTOCOLS) {
    const handler = (payload: object) => ({ ...payload, answer: 'done' });
    agents.push(await startAgent(gateway.url, { name: echo(protocol), protocol, handler }));
  }
});
afterAll(async () => {
  for (const agent of agents) await agent.stop();
  await client.close();
  await gateway.close();
});

describe.each(PROTOCOLS)('a large payload to an agent that speaks %s, and its large answer', (protocol) => {
  it('arrive whole through the SDK, and leave no event over 256 KiB', async () => {
    const text = `发票🧾${'a'.repeat(2_500_000)}`;
    const result = await client.invokeAbility<{ text: string }>(echo(protocol), { text }, { timeoutMs: 30_000 });
    expect(sha256(result.output.text)).toBe(sha256(text));
    expect(result).toMatchObject({ status: 'completed', answer: 'done' });
    const { largest, events } = await reachHistory(result.reach_id);
    expect(events).toBeGreaterThan(4);
    expect(largest).toBeLessThan(262_144);
  });

  it('arrive whole when the sender uploads chunks by itself, out of order', async () => {
    const payload = { numbers: Array.from({ length: 60_000 }, (_, n) => n), text: '发票🧾'.repeat(20_000) };
    const uploaded = await uploadChunks(gateway.api, Buffer.from(JSON.stringify(payload)), {
      id: randomUUID(),
      chunkBytes: 100_003,
      order: (n, of) => of - 1 - n,
    });
    expect(uploaded.status).toBe(200);
    const { payload_ref } = uploaded.body;
    expect(payload_ref).toMatch(/^sha256:[0-9a-f]{64}:\d+$/);
    const answer = await gateway.api.reach({
      payload: undefined,
      payload_ref,
      ability: echo(protocol),
      timeout_ms: 30_000,
    });
    expect(answer.status).toBe(200);
    expect(answer.body.output).toEqual({ ...payload, answer: 'done' });
  });
});
