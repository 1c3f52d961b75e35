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
