/** What the doctor thinks of the engines (R39). Pure: the numbers come from `temporal-probe` and `etcd-probe`. */
import { fine, notChecked, orFine, type Finding } from '../../protocol/doctor';

/** Oldest Temporal server with update-with-start switched on. */
const OLDEST_TEMPORAL = [1, 28] as const;
const DAY_MS = 86_400_000;

/** @param version of the server, such as `1.32.0` */
export function judgeTemporalVersion(version: string): Finding[] {
  const id = 'temporal.version';
  const [major = 0, minor = 0] = version.split('.').map(Number);
  const fits = major > OLDEST_TEMPORAL[0] || (major === OLDEST_TEMPORAL[0] && minor >= OLDEST_TEMPORAL[1]);
  if (fits) return fine(id, `Temporal server ${version}`);
  return [
    {
      id,
      severity: 'error',
      subject: 'Temporal server',
      measured: `version ${version || 'unknown'}`,
      why: 'receipts are answered by update-with-start, which this server may not have',
      fix: `upgrade the server to ${OLDEST_TEMPORAL.join('.')} or newer`,
    },
  ];
}

/** @param retentionMs how long finished runs, and with them results and dead letters, are kept */
export function judgeRetention(namespace: string, retentionMs: number): Finding[] {
  const id = 'temporal.namespace';
  const days = Number((retentionMs / DAY_MS).toFixed(1));
  const measured = `namespace ${namespace} keeps finished runs for ${days} d`;
  if (retentionMs >= 3 * DAY_MS) return fine(id, measured);
  return [
    {
      id,
      severity: retentionMs < DAY_MS ? 'error' : 'warning',
      subject: namespace,
      measured,
      why:
        retentionMs < DAY_MS
          ? 'idempotency keys are promised for 24 h and last only as long as the runs'
          : 'a dead letter of a Friday is gone before Monday',
      fix: 'raise the retention; 7 days is a good start',
      command: `temporal operator namespace update --namespace ${namespace} --retention 168h`,
    },
  ];
}

/** @param missing names of search attributes that are not registered, or are of another type */
export function judgeAttributes(namespace: string, missing: readonly string[], wanted: number): Finding[] {
  const id = 'temporal.search-attributes';
  if (missing.length === 0) return fine(id, `all ${wanted} are registered`);
  const options = missing.map((name) => `--name ${name} --type Keyword`).join(' ');
  return [
    {
      id,
      severity: 'error',
      subject: namespace,
      measured: `missing: ${missing.join(', ')}`,
      why: 'reaches cannot be started with attributes that the namespace does not know',
      fix: 'register them',
      command: `temporal operator search-attribute create --namespace ${namespace} ${options}`,
    },
  ];
}

/** Who polls the task queue, and what waits there. */
export interface WorkersSeen {
  taskQueue: string;
  /** Pollers within the last minutes, of workflow and activity tasks. */
  workflowPollers: number;
  activityPollers: number;
  backlog: number;
  backlogAgeMs: number;
  /** `backpressure.max_backlog_age`. */
  maxBacklogAgeMs: number;
}

export function judgeWorkers(seen: WorkersSeen): Finding[] {
  const id = 'temporal.workers';
  const { taskQueue, workflowPollers, activityPollers, backlog, backlogAgeMs, maxBacklogAgeMs } = seen;
  const found: Finding[] = [];
  if (workflowPollers === 0 || activityPollers === 0)
    found.push({
      id,
      severity: 'error',
      subject: taskQueue,
      measured: `${workflowPollers} pollers of workflow tasks, ${activityPollers} of activities`,
      why: 'reaches are accepted and nobody works on them',
      fix: 'start a worker with the same temporal.task_queue, or the gateway without --no-worker',
      command: 'agent-reach worker',
    });
  if (backlogAgeMs > maxBacklogAgeMs)
    found.push({
      id,
      severity: 'warning',
      subject: taskQueue,
      measured: `${backlog} tasks wait, the oldest for ${Math.round(backlogAgeMs / 1_000)} s`,
      why: 'the workers are behind: callers that wait are turned away with overloaded',
      fix: 'add workers',
      command: 'agent-reach worker',
    });
  const counts = `${workflowPollers} pollers of workflow tasks, ${activityPollers} of activities, ${backlog} tasks waiting`;
  return orFine(found, id, `${taskQueue}: ${counts}`);
}

/** Timers of the development server are about 1,000 ms late unless told otherwise; this much is no trouble. */
const LATE_MS = 400;

/** @param lateMs how long after its time the timer of the probe fired */
export function judgeTimers(lateMs: number, askedMs: number): Finding[] {
  const id = 'temporal.timers';
  const measured = `a timer of ${askedMs} ms fired ${Math.max(0, Math.round(lateMs))} ms late`;
  if (lateMs <= LATE_MS) return fine(id, measured);
  return [
    {
      id,
      severity: 'warning',
      subject: 'Temporal server',
      measured,
      why: 'retries wait that much longer than their backoff says, and deadlines are noticed late',
      fix: 'set history.timerProcessorMaxTimeShift to 50ms in its dynamic configuration; agent-reach dev and the compose file do',
      command: `temporal server start-dev --dynamic-config-value 'history.timerProcessorMaxTimeShift="50ms"'`,
    },
  ];
}

/**
 * etcd 3.5.0 to 3.5.2 may lose data when a member crashes (its maintainers: not for production).
 * @param production false when all of its hosts are on this machine
 */
export function judgeEtcdVersion(version: string, production: boolean): Finding[] {
  const id = 'etcd.version';
  if (!/^3\.5\.[0-2](\D|$)/.test(version)) return fine(id, `etcd ${version}`);
  return [
    {
      id,
      severity: production ? 'error' : 'warning',
      subject: 'etcd',
      measured: `version ${version}${production ? '' : ', on this machine only'}`,
      why: '3.5.0 to 3.5.2 may come back inconsistent after a crash under load; good enough for development, never for production',
      fix: 'use 3.5.3 or newer, or 3.4',
    },
  ];
}

/**
 * A member of etcd that does not answer while another does. Told as an error once, by the check of the version.
 */
export function judgeLostMember(
  id: 'etcd.version' | 'etcd.space',
  { host, members }: { host: string; members: number },
): Finding[] {
  if (id === 'etcd.space') return [{ ...notChecked(id, 'it does not answer'), subject: host }];
  return [
    {
      id,
      severity: 'error',
      subject: host,
      measured: `this one of ${members} hosts of registry.etcd does not answer; others do`,
      why: 'etcd goes on only while more than half of its members are up: there is less left to lose',
      fix: 'start the member again, or take its host out of registry.etcd if it is gone for good',
      command: `etcdctl --endpoints ${host} endpoint status`,
    },
  ];
}

/** What etcd's database takes. */
export interface EtcdSpace {
  bytes: number;
  inUseBytes: number;
  /** Active alarms, such as `NOSPACE`. */
  alarms: readonly string[];
}

/** etcd's default quota; a greater one cannot be read from it. */
const QUOTA_BYTES = 2 * 1_024 ** 3;
const MIB = 1_024 ** 2;

export function judgeEtcdSpace({ bytes, inUseBytes, alarms }: EtcdSpace): Finding[] {
  const id = 'etcd.space';
  const measured = `${Math.ceil(bytes / MIB)} MiB on disk, ${Math.ceil(inUseBytes / MIB)} MiB in use`;
  const free = 'compact and defragment it, then disarm the alarm; raise --quota-backend-bytes if it is needed';
  if (alarms.length > 0)
    return [
      {
        id,
        severity: 'error',
        subject: 'etcd',
        measured: `alarms ${alarms.join(', ')}; ${measured}`,
        why: 'with NOSPACE nothing can be registered or written any more; with CORRUPT members disagree',
        fix: alarms.includes('NOSPACE') ? free : 'replace the corrupt member from the others',
        command: alarms.includes('NOSPACE')
          ? 'etcdctl defrag && etcdctl alarm disarm'
          : 'etcdctl endpoint hashkv --cluster',
      },
    ];
  if (bytes > 0.8 * QUOTA_BYTES)
    return [
      {
        id,
        severity: 'warning',
        subject: 'etcd',
        measured: `${measured}; the default quota is ${QUOTA_BYTES / MIB} MiB`,
        why: 'at the quota etcd refuses every write',
        fix: free,
        command: 'etcdctl defrag',
      },
    ];
  if (bytes > 256 * MIB && inUseBytes < bytes / 2)
    return [
      {
        id,
        severity: 'info',
        subject: 'etcd',
        measured,
        why: 'more than half of the file is free pages, which count against the quota',
        fix: 'defragment it, one member at a time',
        command: 'etcdctl defrag',
      },
    ];
  return fine(id, measured);
}

/** Clocks may be this far apart before dates mislead people, and before tokens and retention go wrong, ms. */
const SKEW_WARNING_MS = 2_000;
const SKEW_ERROR_MS = 60_000;

/** How far a clock is ahead of the one that asks; `withinMs`: how exact that is. */
export interface ClockSeen {
  whose: string;
  /** Negative: behind. */
  aheadMs: number;
  withinMs: number;
}

/** Judges clocks against that of `mine`; what lies within the exactness of the measurement is no skew. */
export function judgeClocks(clocks: readonly ClockSeen[], mine: string): Finding[] {
  const id = 'clock.skew';
  const told = clocks.map(({ whose, aheadMs, withinMs }) => `${whose} ${signed(aheadMs)} ± ${Math.round(withinMs)} ms`);
  const found = clocks.flatMap(({ whose, aheadMs, withinMs }): Finding[] => {
    const skewMs = Math.max(0, Math.abs(aheadMs) - withinMs);
    if (skewMs <= SKEW_WARNING_MS) return [];
    return [
      {
        id,
        severity: skewMs > SKEW_ERROR_MS ? 'error' : 'warning',
        subject: whose,
        measured: `its clock is ${(Math.abs(aheadMs) / 1_000).toFixed(1)} s ${aheadMs > 0 ? 'ahead of' : 'behind'} that of ${mine}`,
        why: 'times in traces and lists do not fit together, dead letters seem to expire at other times, and reach tokens run out early',
        fix: 'let both synchronise by NTP (timedatectl set-ntp true)',
      },
    ];
  });
  return orFine(found, id, told.join(', '));
}

const signed = (ms: number) => `${ms < 0 ? '−' : '+'}${Math.abs(Math.round(ms))} ms`;
