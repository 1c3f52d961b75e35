import { Client, Connection } from '@temporalio/client';
import { DefaultLogger, NativeConnection, Runtime, Worker } from '@temporalio/worker';

/** For one suite: a worker that runs `./worker-workflow` on this queue. Answers its client, which is there once tests run. */
export function runWorkerWorkflow(address: string, taskQueue: string): () => Client {
  let connection: Connection;
  let native: NativeConnection;
  let client: Client;
  let workflows: Worker;
  let running: Promise<void>;
  beforeAll(async () => {
    Runtime.install({ logger: new DefaultLogger('ERROR') });
    connection = await Connection.connect({ address });
    native = await NativeConnection.connect({ address });
    client = new Client({ connection });
    const workflowsPath = require.resolve('./worker-workflow');
    workflows = await Worker.create({ connection: native, taskQueue, workflowsPath });
    running = workflows.run();
  });
  afterAll(async () => {
    workflows.shutdown();
    await running;
    await native.close();
    await connection.close();
  });
  return () => client;
}
