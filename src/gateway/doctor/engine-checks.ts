import { createEtcd } from '../../registry';
import type { DoctorCheck, Finding } from '../../protocol/doctor';
import { fromTemporal } from '../temporal-errors';
import { fine, orFine } from '../../protocol/doctor';
import * as judge from './engines';
import { etcdClock, etcdStatus, isOnThisMachine } from './etcd-probe';
import type { Check, DoctorOptions } from './options';
import * as temporal from './temporal-probe';

/** The checks of Temporal, etcd and the clocks. */
type EngineCheck = Extract<DoctorCheck, `temporal.${string}` | `etcd.${string}` | 'registry.view' | 'clock.skew'>;

/** Checks that ask the engines. */
export function engineChecks(options: DoctorOptions): Record<EngineCheck, Check> {
  const { config, client, connection, searchAttributes: wanted } = options;
  const { namespace, task_queue: taskQueue } = config.temporal;
  const place = { client, connection, namespace, taskQueue };
  const asked = async <T>(what: string, run: () => Promise<T>): Promise<T> => {
    try {
      return await run();
    } catch (caught) {
      throw fromTemporal(caught, what);
    }
  };
  return {
    'temporal.version': async () =>
      judge.judgeTemporalVersion(await asked('read its version', () => temporal.serverVersion(place))),
    'temporal.namespace': async () =>
      judge.judgeRetention(namespace, await asked('read the namespace', () => temporal.retentionMs(place))),
    'temporal.search-attributes': async () => {
      const missing = await asked('read the search attributes', () => temporal.missingAttributes(place, wanted));
      return judge.judgeAttributes(namespace, missing, wanted.length);
    },
    'temporal.workers': async () => {
      const seen = await asked('describe the task queue', () => temporal.workersSeen(place));
      return judge.judgeWorkers({ ...seen, maxBacklogAgeMs: config.backpressure.max_backlog_age });
    },
    'temporal.timers': async () => {
      const { lateMs } = await asked('time a timer', () => temporal.probeTimer(place));
      return judge.judgeTimers(lateMs, temporal.PROBE_TIMER_MS);
    },
    'etcd.version': () =>
      ofEachMember(options, 'etcd.version', ({ version }, host) =>
        judge.judgeEtcdVersion(version, !isOnThisMachine(host)),
      ),
    'etcd.space': () => ofEachMember(options, 'etcd.space', ({ space }) => judge.judgeEtcdSpace(space)),
    'registry.view': () => checkView(options),
    'clock.skew': async () => {
      const timer = await asked('read its clock', () => temporal.probeTimer(place));
      const etcds = await Promise.all(config.registry.etcd.map(etcdClock));
      return judge.judgeClocks([timer.clock, ...etcds.filter((clock) => clock !== null)], 'the gateway');
    },
  };
}

/**
 * Each member is asked by a client of its own, or the library would choose one of them. One that does not answer is a finding
 * of its own, since the others carry on.
 * @throws what the last of them failed with, when none answers
 */
async function ofEachMember(
  { config, logger }: DoctorOptions,
  id: 'etcd.version' | 'etcd.space',
  judged: (status: Awaited<ReturnType<typeof etcdStatus>>, host: string) => Finding[],
): Promise<Finding[]> {
  const hosts = config.registry.etcd;
  const asked = await Promise.allSettled(
    hosts.map(async (host) => {
      const etcd = createEtcd({ hosts: host });
      try {
        return judged(await etcdStatus(etcd), host);
      } finally {
        etcd.close();
      }
    }),
  );
  return asked.flatMap((one, position): Finding[] => {
    const subject = hosts[position] ?? 'etcd';
    if (one.status === 'fulfilled')
      return hosts.length === 1 ? one.value : one.value.map((finding) => ({ ...finding, subject }));
    if (asked.every(({ status }) => status === 'rejected')) throw one.reason;
    logger.debug({ check: id, host: subject, err: one.reason as unknown }, 'a member of etcd does not answer');
    return judge.judgeLostMember(id, { host: subject, members: hosts.length });
  });
}

/** How long the view may go without a word of etcd, in refresh intervals. */
const STALE_INTERVALS = 3;

function checkView({ view, config }: DoctorOptions): Finding[] {
  const id = 'registry.view';
  const { connected, lastSyncAgeMs } = view.staleness();
  const agents = view.world().agents.length;
  const stale = lastSyncAgeMs > STALE_INTERVALS * config.registry.refresh_interval;
  if (connected && !stale)
    return fine(id, `${agents} versions of agents, known to be current ${Math.round(lastSyncAgeMs)} ms ago`);
  return orFine(
    [
      {
        id,
        severity: 'error',
        subject: 'registry',
        measured: `${connected ? 'connected' : 'cut off'}, last current ${Math.round(lastSyncAgeMs / 1_000)} s ago`,
        why: 'routing goes by what was known then: agents that came since are unknown, those that left are called',
        fix: 'see that etcd answers at the hosts of registry.etcd',
        command: 'etcdctl endpoint status --cluster',
      },
    ],
    id,
    '',
  );
}
