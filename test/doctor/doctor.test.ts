/** The doctor and the diagnoses as a person meets them: a real gateway, through the command line. */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { doctorReportSchema, DOCTOR_CHECK_IDS, type DoctorReport, type Finding } from '../../src/protocol/doctor';
import { cli } from '../cli/cli-io';
import { expectProblem } from '../support/problem';
import { startGateway, type TestGateway } from '../support/gateway';
import { descriptorOf, registerDescriptor } from '../support/scripted-agent';
import { startHttpAgent, type ScriptedHttpAgent } from '../support/scripted-http-agent';

let gateway: TestGateway;
let reader: ScriptedHttpAgent;
let folder: string;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'doctor-'));
  gateway = await startGateway({
    config: {
      router: { weights: { semantic_similarity: 0.4, latency_score: 0.2, reliability_score: 0.4 } },
      registry: { health_threshold: 0.1 },
    },
  });
  const same = 'Reads the text of invoices and receipts from pictures';
  reader = await startHttpAgent(gateway.api, {
    name: 'reader',
    capability: { name: 'invoice-ocr', description: same, input_schema: { type: 'object', required: ['pages'] } },
    descriptor: { health_check: { interval_sec: 60, timeout_sec: 5 } },
  });
  await registerDescriptor(
    gateway.api,
    descriptorOf({ name: 'asleep', capability: { name: 'receipt-reading', description: same } }, 'worker'),
  );
});

afterAll(async () => {
  await reader.close();
  await gateway.close();
  rmSync(folder, { recursive: true });
});

const reach = (...args: string[]) => cli([...args, '--url', gateway.url]);
const told = (line: string) => ({ err: expect.stringContaining(line) });

describe('a diagnosis on the command line', () => {
  it('of a misspelt name: the nearest, and the next command', async () => {
    const { code, err } = await reach('invoke', 'invoice_ocr', '-p', '{}');
    expect(code).toBe(1);
    expect(err).toContain('did you mean invoice-ocr (separator)?');
    expect(err).toContain('→ agent-reach abilities invoice-ocr');
    expect(await reach('send', 'weather')).toMatchObject(told('finds abilities by meaning'));
    expect(await reach('invoke', '--agent', 'raeder')).toMatchObject(told('→ agent-reach agents reader'));
  });

  it('of an agent that never came: who, since when, what to do', async () => {
    const { code, out } = await reach('route', 'receipt-reading');
    expect(code).toBe(1);
    expect(out).toContain('✗ no_ready_instance  no agent is ready for receipt-reading\n');
    expect(out).toMatch(/asleep#1\.0\.0\s+never registered\s+-\s+-\s+no instance has ever registered/);
    expect(out).toContain('advice  start an instance that registers itself');
    expect(out).toContain('→ agent-reach agents asleep');
    const counted = async () => {
      const { text } = await gateway.api.get('/metrics');
      return Number(/^agent_reach_no_candidate_total\{reason="never_registered"\} (\d+)$/m.exec(text)?.[1] ?? 0);
    };
    const before = await counted();
    const problem = expectProblem(await gateway.api.reach({ ability: 'receipt-reading' }), 'no_ready_instance');
    expect(problem.diagnosis).toMatchObject({ causes: [{ cause: 'never_registered', count: 1 }] });
    expect(problem.diagnosis?.retry_after_ms).toBe(problem.retry_after_ms);
    expect(await counted()).toBe(before + 1);
  });

  it('of a version, a type and a payload that nobody takes', async () => {
    expect(await reach('invoke', 'invoice-ocr', '--version-range', '^2.0.0')).toMatchObject(
      told('ask for a version that is there, such as 1.0.0'),
    );
    expect(await reach('invoke', 'invoice-ocr', '--type', 'command')).toMatchObject(told('send it as "task"'));
    expect(await reach('invoke', 'invoice-ocr', '-p', '{}')).toMatchObject(told('/pages  is missing'));
  });

  it('of an agent whose breaker an operator holds open: by whom, since when, until when, and how that ends', async () => {
    await reach('breakers', 'open', 'reader', 'invoice-ocr', '--reason', 'maintenance');
    const { out } = await reach('route', 'invoice-ocr', '-p', '{"pages":1}');
    expect(out).toMatch(/reader#1\.0\.0\s+open\s+\S+ \S+ ago\s+local\s+held open by local .*maintenance/);
    expect(out).toContain('agent-reach breakers auto');
    expect(out).toContain('→ agent-reach breakers');
    await reach('breakers', 'auto', 'reader', 'invoice-ocr');
  });
});

describe('doctor', () => {
  let report: DoctorReport;
  const found = (id: string): Finding[] => report.findings.filter((finding) => finding.id === id);

  beforeAll(async () => {
    await gateway.api.put('/v1/agents/reader/instances/short', { version: '1.0.0', host: reader.url, ttl_sec: 20 });
    const { code, out } = await reach('doctor', '--json');
    expect(code).toBe(0);
    report = JSON.parse(out) as DoctorReport;
  }, 30_000);

  it('makes every check, and each finding that is not well says why and what to do', () => {
    expect(doctorReportSchema.strict().safeParse(report).error).toBeUndefined();
    expect([...new Set(report.findings.map(({ id }) => id))]).toEqual(['clock.here', ...DOCTOR_CHECK_IDS]);
    for (const finding of report.findings)
      if (finding.severity !== 'ok' && finding.checked !== false)
        expect(finding).toMatchObject({ why: expect.stringMatching(/\S/), fix: expect.stringMatching(/\S/) });
  });

  it.each([
    ['router.weights', 'router.weights.reliability_score'],
    ['router.health-threshold', 'registry.health_threshold'],
    ['health.interval', 'reader#1.0.0'],
    ['leases.ttl', 'short of reader'],
    ['agents.ready', 'asleep#1.0.0'],
    ['router.meaning', 'embeddings.url'],
    ['descriptions.overlap', expect.stringContaining('receipt-reading')],
  ])('finds what was provoked: %s', (id, subject) => {
    expect(found(id)).toContainEqual(expect.objectContaining({ severity: 'warning', subject }));
  });

  it.each([
    'temporal.version',
    'temporal.namespace',
    'temporal.search-attributes',
    'temporal.workers',
    'registry.view',
    'clock.skew',
    'etcd.space',
    'names.near',
    'dead-letters.expiring',
  ])('measures %s on the real engines', (id) =>
    expect(found(id)).toEqual([expect.objectContaining({ severity: 'ok', measured: expect.stringMatching(/\S/) })]),
  );

  it('measures a timer of the server, and leaves nothing behind', async () => {
    expect(found('temporal.timers')[0]?.measured).toMatch(/^a timer of 200 ms fired \d+ ms late$/);
  });

  it('counts connections against requests once there were some', async () => {
    const eight = () =>
      Promise.all(
        Array.from({ length: 8 }, (_, pages) => gateway.api.reach({ ability: 'invoice-ocr', payload: { pages } })),
      );
    for (let n = 0; n < 3; n += 1) await eight();
    const { findings } = (await gateway.api.get('/v1/doctor?check=connections.reuse&check=connections.success'))
      .body as DoctorReport;
    expect(findings).toEqual([
      expect.objectContaining({
        id: 'connections.reuse',
        severity: 'ok',
        measured: expect.stringContaining('new connections/s for'),
      }),
      expect.objectContaining({ id: 'connections.success', severity: 'ok' }),
    ]);
    expectProblem(await gateway.api.get('/v1/doctor?check=everything'), 'invalid_request');
  });

  it('tells people the worst first, with a summary, and what is well when asked', async () => {
    const { out } = await reach('doctor', '--all');
    expect(out).toMatch(
      /!\s+router\.weights\s+router\.weights\.reliability_score\n\s+reliability weighs 0\.40 of the score\n\s+why/,
    );
    expect(out).toMatch(/✓\s+temporal\.version\s+Temporal server \d/);
    expect(out.trimEnd().split('\n').at(-1)).toMatch(/^\d+ warnings · .*\d+ well/);
  });

  it('ends with 3 when nobody is there, and with 1 for files that are wrong', async () => {
    expect((await cli(['doctor', '--url', 'http://127.0.0.1:1'])).code).toBe(3);
    const config = join(folder, 'agent-reach.yaml');
    writeFileSync(config, 'router: { weights: { reliability_score: 0.9 } }\n');
    const bad = join(folder, 'bad.yaml');
    writeFileSync(bad, 'name: Bad Name\n');
    const files = await cli(['doctor', '--offline', '--config', config, bad]);
    expect(files.code).toBe(1);
    expect(files.out).toContain('router.weights.reliability_score');
    expect(files.out).toContain(bad);
    expect((await cli(['doctor', '--offline'])).code).toBe(0);
    expect((await cli(['doctor', '--offline', join(folder, 'none.yaml')])).code).toBe(2);
  });
});

it('docs/doctor.md lists every check', () => {
  const page = readFileSync(join(__dirname, '../../docs/doctor.md'), 'utf8');
  for (const id of DOCTOR_CHECK_IDS) expect(page).toContain(`\`${id}\``);
});
