/**
 * An ordinary Temporal worker as a process of its own: the yardstick. It logs as little as the gateway, and its HTTP
 * connections are pooled like the gateway's.
 * Usage: node main.js TEMPORAL_ADDRESS
 */
import { DefaultLogger, NativeConnection, Runtime, Worker } from '@temporalio/worker';
import { Agent, request } from 'undici';
import { stopWithParent } from '../children';
import { PLAIN_TASK_QUEUE, type PlainActivities, type PlainInput, type PlainOutput } from './contract';

async function main(address: string): Promise<void> {
  Runtime.install({ logger: new DefaultLogger('WARN'), shutdownSignals: [] });
  const dispatcher = new Agent({ connections: 64, pipelining: 1 });
  const connection = await NativeConnection.connect({ address });
  const worker = await Worker.create({
    connection,
    taskQueue: PLAIN_TASK_QUEUE,
    workflowsPath: require.resolve('./workflow'),
    activities: activities(dispatcher),
  });
  const working = worker.run();
  stopWithParent(async () => {
    worker.shutdown();
    await working;
    await connection.close();
    await dispatcher.close();
  });
  process.stdout.write(`ready ${PLAIN_TASK_QUEUE}\n`);
  await working;
}

function activities(dispatcher: Agent): PlainActivities {
  return {
    async post({ url, payload }: PlainInput): Promise<PlainOutput> {
      const response = await request(url, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ payload }),
        dispatcher,
      });
      const body = (await response.body.json()) as PlainOutput;
      if (response.statusCode !== 200) throw new Error(`The agent answered ${response.statusCode}`);
      return body;
    },
  };
}

main(process.argv[2] ?? '').catch((error: unknown) => {
  process.stderr.write(`plain worker: ${error instanceof Error ? error.message : String(error)}\n`);
  process.exit(1);
});
