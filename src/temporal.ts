/** The process's ways to Temporal: the SDK's runtime, the connection, and what activities ask of the server. */
import { Client, WorkflowNotFoundError } from '@temporalio/client';
import { DefaultLogger, makeTelemetryFilterString, NativeConnection, Runtime, type LogEntry } from '@temporalio/worker';
import type { Logger } from 'pino';
import type { ActivityDependencies } from '../activities/dependencies';
import { secretOf, type Config } from './config';
import { bounded } from './gateway/temporal-errors';
import { ReachError } from './protocol/reach-error';

/** What the SDK warns of at the start of a worker that has activities only, as that of the callbacks. */
const NO_WORKFLOWS = 'No workflows registered, not polling for workflow tasks';

let runtimeInstalled = false;

/** The SDK's log lines go through our logger, at the level they have; the runtime is one per process, so the first caller's. */
export function installRuntime(logger: Logger): void {
  if (runtimeInstalled) return;
  runtimeInstalled = true;
  const write = ({ level, message, meta }: LogEntry) => {
    if (message !== NO_WORKFLOWS) logger[PINO_LEVEL[level]]({ temporal: meta }, message);
  };
  const level = logger.isLevelEnabled('debug') ? 'DEBUG' : 'WARN';
  const filter = makeTelemetryFilterString({ core: level, other: 'ERROR' });
  Runtime.install({
    logger: new DefaultLogger(level, write),
    telemetryOptions: { logging: { filter, forward: {} } },
    shutdownSignals: [],
  });
}

const PINO_LEVEL = { TRACE: 'trace', DEBUG: 'debug', INFO: 'info', WARN: 'warn', ERROR: 'error' } as const;

/** @throws ReachError `engine_unavailable`, with what to do about it */
export async function connectTemporal(config: Config): Promise<NativeConnection> {
  const { address, tls } = config.temporal;
  const apiKey = secretOf('temporal.api_key_env', config);
  try {
    // Left to the SDK where it is not set: with a key it encrypts, without one it does not.
    return await NativeConnection.connect({ address, tls, apiKey });
  } catch (cause) {
    throw new ReachError(
      'engine_unavailable',
      `Temporal does not answer at ${address}; start it or set temporal.address (agent-reach dev brings its own)`,
      { cause },
    );
  }
}

/** What activities cancel nested reaches with. */
export function reachCanceller(
  connection: NativeConnection,
  { temporal }: Config,
): ActivityDependencies['cancelReach'] {
  const client = new Client({ connection, namespace: temporal.namespace });
  return async (reachId) => {
    try {
      await bounded(client, () => client.workflow.getHandle(reachId).cancel());
      return 'cancelling';
    } catch (caught) {
      if (!(caught instanceof WorkflowNotFoundError)) return 'failed';
      // The server says the same of one that is over.
      const known = await bounded(client, () => client.workflow.getHandle(reachId).describe()).catch(() => null);
      return known ? 'over' : 'unknown';
    }
  };
}
