/** The compiled demo, end to end, on real engines: what `npm run demo` shows, and that it leaves nothing behind. */
import { DemoRun, type TestTicket } from './run-demo';

const TICKETS: TestTicket[] = [
  { id: 'T-1', lang: 'zh', text: '这款耳机防水吗，支持哪些蓝牙规格', agent: 'product_qa_agent' },
  {
    id: 'T-2',
    lang: 'en',
    text: 'I am so angry, your service is the worst and nobody listens',
    agent: 'soothing_agent',
    user_tone: 'angry',
  },
  { id: 'T-3', lang: 'zh', text: '收到的杯子破损了，责任算谁的，要退货', agent: 'aftersale_agent', has_photo: true },
  {
    id: 'T-4',
    lang: 'en',
    text: 'What is the status of my refund, when does the money arrive?',
    agent: 'refund_agent',
  },
  { id: 'T-5', lang: 'zh', text: '退款进度到哪一步了，钱什么时候到账', agent: 'refund_agent' },
  {
    id: 'T-6',
    lang: 'en',
    text: 'The plate arrived damaged, who is liable and who pays the return postage?',
    agent: 'aftersale_agent',
  },
];

interface Report {
  tickets: {
    ticket_id: string;
    agent_name?: string;
    score: number | null;
    runner_up: { agent_name: string; score: number } | null;
    ms: number;
    output?: { answer: string; confidence: number; next_step: string };
    error?: { code: string; detail: string };
  }[];
  accuracy: Record<string, { right: number; of: number }>;
  failed: number;
  decision: {
    ticket_id: string;
    candidates: { agent_name: string; score: number; cosine: number | null; factors: Record<string, number> }[];
  };
  trace: { reach_id: string; status: string; hops: { name: string }[] };
  links: Record<'gateway' | 'docs' | 'temporal', string>;
}

let run: DemoRun | undefined;
afterEach(() => run?.cleanUp());

it('sends each ticket to the right agent, explains itself, and leaves nothing behind', async () => {
  run = new DemoRun(TICKETS, ['--json']);
  await run.said(/gateway http/);
  // Demo, dev, gateway, agents.js, four agents, Temporal, etcd at least: so the check for leftovers can fail.
  expect(run.processes().length).toBeGreaterThanOrEqual(10);
  expect([await run.exitCode(), run.processes(), run.leftovers()]).toEqual([0, [], []]);

  const report = JSON.parse(run.stdout) as Report;
  expect(report.tickets.map(({ ticket_id, agent_name }) => [ticket_id, agent_name])).toEqual(
    TICKETS.map(({ id, agent }) => [id, agent]),
  );
  expect(report.accuracy).toEqual({ zh: { right: 3, of: 3 }, en: { right: 3, of: 3 }, all: { right: 6, of: 6 } });
  expect(report.failed).toBe(0);
  for (const { score, runner_up } of report.tickets) expect(score).toBeGreaterThan(runner_up?.score ?? 1);
  // The photo and the rule that matched reach the answer.
  expect(report.tickets[2]?.output).toMatchObject({
    next_step: 'create_exchange',
    answer: expect.stringContaining('商品破损') as string,
  });
  expect(report.tickets[5]?.output).toMatchObject({
    next_step: 'ask_photo',
    answer: expect.stringContaining('damaged goods') as string,
  });
  expect(report.decision.candidates.map(({ agent_name }) => agent_name).sort()).toEqual([
    'aftersale_agent',
    'product_qa_agent',
    'refund_agent',
    'soothing_agent',
  ]);
  expect(report.trace.hops.map(({ name }) => name)).toEqual(expect.arrayContaining(['accept', 'route', 'invoke']));
  expect(report.links.temporal).toMatch(/^http:/);
});

it('goes on when an agent is killed: others answer, or the table says why nobody does', async () => {
  run = new DemoRun(TICKETS, ['--concurrency', '1', '--keep']);
  await run.said(/1\/6/);
  const victim = run.processes().find(({ command }) => command.includes('refund-agent.js'));
  process.kill(victim!.pid, 'SIGKILL');
  await run.said(/Stays up/);
  run.kill('SIGINT');
  const exitCode = await run.exitCode();
  expect([run.processes(), run.leftovers()]).toEqual([[], []]);

  const rows = TICKETS.map(
    ({ id }) => run!.stdout.split('\n').find((line) => line.startsWith(id)) ?? `${id} has no row`,
  );
  for (const row of rows) expect(row).toMatch(/[✓✗] \w+_agent .*\S +\d\.\d\d +\d+$|✗ \w+ .* [a-z]+_[a-z]+: .* – +\d+$/);
  expect(rows.filter((row) => row.includes('✓ refund_agent'))).toEqual([]);
  expect(run.stdout).toMatch(/needed more than one attempt|not answered/);
  expect(exitCode).toBe(run.stdout.includes('not answered') ? 1 : 0);
});

it('stops everything when interrupted while it starts', async () => {
  run = new DemoRun(TICKETS);
  await run.said(/▸ Starting/);
  run.kill('SIGINT');
  expect(await run.exitCode()).toBe(130);
  await run.gone();
  expect(run.leftovers()).toEqual([]);
});
