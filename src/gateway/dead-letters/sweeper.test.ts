import { Registry } from 'prom-client';
import { systemClock } from '../../registry/clock';
import { createEtcd } from '../../registry/etcd/etcd-client';
import { createDeadLetterMetrics } from '../../telemetry/dead-letter-metrics';
import { DeadLetterSweeper } from './sweeper';

const noLog = { debug: () => undefined, info: () => undefined, warn: () => undefined, error: () => undefined };

it('a sweep under way is broken off when the gateway stops, and not read to its end', async () => {
  const etcd = createEtcd({ hosts: '127.0.0.1:9' });
  let pages = 0;
  // A visibility store that always has one page more.
  const listWorkflowExecutions = async () => {
    pages += 1;
    await new Promise((done) => setTimeout(done, 1));
    return { executions: [], nextPageToken: Buffer.from('more') };
  };
  const connection = { withDeadline: (_until: Date, run: () => Promise<unknown>) => run() };
  const client = { connection, workflowService: { listWorkflowExecutions } };
  const sweeper = new DeadLetterSweeper({
    etcd,
    tenant: 'default',
    scope: { client: client as never, namespace: 'default' },
    store: { discardedRuns: async () => new Set<string>() },
    retention: { ms: async () => 86_400_000 },
    alertBeforeMs: 3_600_000,
    intervalMs: 60_000,
    reads: { pages: 10_000, pageSize: 100 },
    metrics: createDeadLetterMetrics(new Registry()),
    clock: systemClock,
    logger: noLog,
  });
  const sweeping = expect(sweeper.sweep()).rejects.toThrow('the sweeper is stopped');
  while (pages < 3) await new Promise((done) => setTimeout(done, 1));
  const atStop = pages;
  await sweeper.stop();
  await sweeping;
  expect(pages).toBeLessThanOrEqual(atStop + 1);
  etcd.close();
});
