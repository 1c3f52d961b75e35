import { randomUUID } from 'node:crypto';
import { Client, Connection } from '@temporalio/client';
import { DefaultLogger, NativeConnection, Runtime, Worker } from '@temporalio/worker';

/** Address of the Temporal server that all suites share. */
export function temporalAddress(): string {
  const address = process.env.TEST_TEMPORAL_ADDRESS;
  if (!address)
    throw new Error('TEST_TEMPORAL_ADDRESS is not set: run the tests with jest, whose global setup starts Temporal');
  return address;
}

/** The workflows, bundled once for all suites by the global setup. */
export function workflowBundle(): { codePath: string } {
  quiet();
  return { codePath: process.env.AGENT_REACH_WORKFLOW_BUNDLE ?? '' };
}

let installed = false;
function quiet(): void {
  if (installed) return;
  installed = true;
  Runtime.install({ logger: new DefaultLogger('ERROR'), shutdownSignals: [] });
}

/** A client and a task queue of its own; workers started through it are stopped by `close`. */
export interface TemporalBench {
  client: Client;
  taskQueue: string;
  connection: NativeConnection;
  startWorker(activities: object): Promise<Worker>;
  close(): Promise<void>;
}

export async function createTemporalBench(): Promise<TemporalBench> {
  quiet();
  const connection = await NativeConnection.connect({ address: temporalAddress() });
  const grpc = await Connection.connect({ address: temporalAddress() });
  const taskQueue = `test-${randomUUID()}`;
  const running: { worker: Worker; done: Promise<void> }[] = [];
  return {
    client: new Client({ connection: grpc }),
    connection,
    taskQueue,
    async startWorker(activities) {
      const worker = await Worker.create({
        connection,
        taskQueue,
        workflowBundle: workflowBundle(),
        activities,
        shutdownGraceTime: '1s',
      });
      running.push({ worker, done: worker.run() });
      return worker;
    },
    async close() {
      for (const { worker, done } of running) {
        if (worker.getState() === 'RUNNING') worker.shutdown();
        await done;
      }
      await connection.close();
      await grpc.close();
    },
  };
}
