/** Agents that work on one matter share its context: each through the call it was given. */
import { randomUUID } from 'node:crypto';
import { ReachAgent, type AgentHandler } from '../../src/sdk/agent';
import { AgentReachClient } from '../../src/sdk/client';
import { startGateway, type TestGateway } from '../support/gateway';
import { waitFor } from '../support/wait-for';

let gateway: TestGateway;
let client: AgentReachClient;
const agents: ReachAgent[] = [];
const quiet = () => undefined;

beforeAll(async () => {
  gateway = await startGateway({ apiKey: 'k-1' });
  client = new AgentReachClient({ url: gateway.url, apiKey: 'k-1' });
});
afterAll(async () => {
  for (const agent of agents) await agent.stop();
  await client?.close();
  await gateway?.close();
});

async function startAgent(name: string, handler: AgentHandler, apiKey?: string): Promise<void> {
  const agent = new ReachAgent({
    descriptor: { name, version: '1.0.0', capabilities: [name], endpoint: { protocol: 'http' } },
    gateway: gateway.url,
    apiKey,
    handlers: { [name]: handler },
    log: { debug: quiet, info: quiet, warn: quiet, error: quiet },
  });
  agents.push(agent);
  await agent.start();
  await waitFor(`${name} being ready`, async () => {
    const { body } = await gateway.api.get(`/v1/agents/${name}`);
    return body?.instances?.some(({ status }: { status: string }) => status === 'ready');
  });
}

it('a handler writes to the context of its call, and has none without an id', async () => {
  await startAgent(
    'notetaker',
    async ({ text }, { context }) => {
      if (context === null) return { noted: false };
      await context.append('notes', text as string);
      await context.update<{ count: number }>((fields) => void (fields.count = (fields.count ?? 0) + 1));
      return { noted: true, id: context.id };
    },
    'k-1',
  );
  const contextId = `matter/${randomUUID()}`;
  const note = (text: string, more = {}) =>
    client.invokeAbility('notetaker', { text }, { context_id: contextId, timeoutMs: 30_000, ...more });
  const answers = await Promise.all(['a', 'b', 'c'].map((text) => note(text)));
  expect(answers.map(({ output }) => output)).toEqual(
    Array.from({ length: 3 }, () => ({ noted: true, id: contextId })),
  );
  const { fields } = await client.context(contextId).get();
  expect([...(fields.notes!.value as string[])].sort()).toEqual(['a', 'b', 'c']);
  expect(fields.count!.value).toBe(3);
  expect((await note('d', { context_id: undefined })).output).toEqual({ noted: false });
});
