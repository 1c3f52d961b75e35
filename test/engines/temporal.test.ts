import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';

import { Client, Connection } from '@temporalio/client';

import { startTemporal, type RunningEngine } from '../../src/engines';
import { isListening } from '../../src/engines/ports';
import { useTempDir } from './support/temp-dir';

const dataDir = useTempDir();
let engine: RunningEngine | undefined;
let connection: Connection | undefined;
afterEach(async () => {
  await connection?.close();
  await engine?.stop();
});

async function connect({ address }: RunningEngine): Promise<Client> {
  await connection?.close();
  connection = await Connection.connect({ address });
  return new Client({ connection });
}

async function retentionDays(client: Client): Promise<number> {
  const { config } = await client.workflowService.describeNamespace({ namespace: 'default' });
  return Number(config?.workflowExecutionRetentionTtl?.seconds) / 86_400;
}

const port = (address: string | undefined) => Number(address?.split(':').at(-1));

it('is ready with a Web UI, seven days of retention and the search attributes; frees its ports when stopped', async () => {
  engine = await startTemporal({
    dataDir: dataDir(),
    searchAttributes: { ReachAgent: 'Keyword', ReachScore: 'Double' },
  });
  const client = await connect(engine);
  expect(await retentionDays(client)).toBe(7);
  const { customAttributes } = await client.connection.operatorService.listSearchAttributes({ namespace: 'default' });
  expect(customAttributes).toMatchObject({ ReachAgent: 2, ReachScore: 4 });
  expect((await fetch(`${engine.uiUrl}/`)).status).toBe(200);
  await connection?.close();
  await engine.stop();
  expect(await Promise.all([port(engine.address), port(engine.uiUrl)].map(isListening))).toEqual([false, false]);
});

it('keeps workflows on the same data folder, and adds attributes and retention that it lacked', async () => {
  const start = { taskQueue: 'none', workflowId: 'kept' };
  engine = await startTemporal({ dataDir: dataDir(), searchAttributes: { Old: 'Keyword' }, retentionDays: 2 });
  let client = await connect(engine);
  expect(await retentionDays(client)).toBe(2);
  await client.workflow.start('w', start);
  await engine.stop();

  engine = await startTemporal({ dataDir: dataDir(), searchAttributes: { Old: 'Keyword', New: 'Int' } });
  client = await connect(engine);
  expect(await retentionDays(client)).toBe(7);
  expect((await client.workflow.getHandle('kept').describe()).status.name).toBe('RUNNING');
  await client.workflow.start('w', { ...start, workflowId: 'tagged', searchAttributes: { New: [1], Old: ['a'] } });

  engine.kill('SIGKILL');
  await engine.exited;
  await engine.restart?.();
  client = await connect(engine);
  expect((await client.workflow.getHandle('tagged').describe()).searchAttributes).toMatchObject({
    New: [1],
    Old: ['a'],
  });
});

it('refuses a database whose attribute has another type', async () => {
  engine = await startTemporal({ dataDir: dataDir(), searchAttributes: { A: 'Keyword' } });
  await engine.stop();
  const retyped = startTemporal({ dataDir: dataDir(), searchAttributes: { A: 'Int' } });
  await expect(retyped).rejects.toThrow('has search attribute A as Keyword, not Int');
});

it('says why it cannot start, in its own words', async () => {
  await writeFile(join(dataDir(), 'temporal.db'), 'not a database'.repeat(100));
  await expect(startTemporal({ dataDir: dataDir() })).rejects.toMatchObject({
    name: 'EngineStartError',
    message: expect.stringMatching(/ended while it was being started[^]*not a database/),
  });
});
