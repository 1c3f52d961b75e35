import { loadConfig } from '../../config';
import { Doctor, type DoctorOptions } from './index';

const { config } = { config: loadConfig({ env: {} }) };

it('makes a check once for all who ask meanwhile, and again for whoever asks later', async () => {
  let looks = 0;
  const world = () => (looks++, { revision: '1', agents: [] });
  const options = { config, view: { world }, now: () => new Date(0), logger: { debug: () => undefined } };
  const doctor = new Doctor(options as unknown as DoctorOptions);
  const ask = () => doctor.report({ check: 'names.near' });
  const reports = await Promise.all([ask(), ask(), ask()]);
  expect(looks).toBe(1);
  expect(reports.map(({ counts }) => counts.ok)).toEqual([1, 1, 1]);
  await ask();
  expect(looks).toBe(2);
});

it('an engine that is not there is an error that says where to look', async () => {
  const options = {
    config: { ...config, registry: { ...config.registry, etcd: ['127.0.0.1:9'] } },
    now: () => new Date(0),
    logger: { debug: () => undefined },
  };
  const { findings } = await new Doctor(options as unknown as DoctorOptions).report({ check: 'etcd.version' });
  expect(findings).toEqual([
    expect.objectContaining({
      severity: 'error',
      subject: 'etcd',
      fix: expect.stringContaining('registry.etcd'),
      command: 'etcdctl endpoint status --cluster',
    }),
  ]);
});

it('one member of etcd of two that is down is told by its host; the other is looked at', async () => {
  const up = process.env.TEST_ETCD_ADDRESS ?? '';
  const options = {
    config: { ...config, registry: { ...config.registry, etcd: ['127.0.0.1:9', up] } },
    now: () => new Date(0),
    logger: { debug: () => undefined },
  };
  const report = await new Doctor(options as unknown as DoctorOptions).report({
    check: ['etcd.version', 'etcd.space'],
  });
  const { findings } = report;
  expect(findings).toContainEqual(
    expect.objectContaining({ id: 'etcd.version', severity: 'error', subject: '127.0.0.1:9' }),
  );
  expect(findings).toContainEqual(expect.objectContaining({ id: 'etcd.version', subject: up }));
  expect(findings).toContainEqual(expect.objectContaining({ id: 'etcd.space', subject: up }));
  expect(JSON.stringify(findings)).not.toContain('nothing is accepted');
});

describe('dead letters that expire', () => {
  const describeNamespace = async () => ({ config: { workflowExecutionRetentionTtl: { seconds: 604_800 } } });
  const connection = { withDeadline: (_until: Date, run: () => Promise<unknown>) => run() };
  const asked = async (pages: { items: { reach_id: string; expires_at: string }[]; next_cursor?: string }[]) => {
    const list = async ({ cursor }: { cursor?: string }) => pages[Number(cursor ?? 0)];
    const options = {
      config,
      client: { connection, workflowService: { describeNamespace } },
      deadLetters: { list },
      now: () => new Date(),
      logger: { debug: () => undefined },
    };
    const doctor = new Doctor(options as unknown as DoctorOptions);
    return (await doctor.report({ check: 'dead-letters.expiring' })).findings;
  };

  it('are looked for behind pages that are empty, and the one that goes first is on the last of them', async () => {
    const findings = await asked([
      { items: [], next_cursor: '1' },
      { items: [{ reach_id: 'r-late', expires_at: '2026-03-01T13:00:00Z' }], next_cursor: '2' },
      { items: [{ reach_id: 'r-soon', expires_at: '2026-03-01T12:00:00Z' }] },
    ]);
    expect(findings).toEqual([
      expect.objectContaining({
        severity: 'warning',
        subject: 'r-soon',
        measured: expect.stringMatching(/^2 expire .* the first at 2026-03-01T12:00:00Z$/),
      }),
    ]);
  });

  it('are none only when the list was read to its end', async () => {
    expect(await asked([{ items: [] }])).toEqual([expect.objectContaining({ severity: 'ok' })]);
  });
});
