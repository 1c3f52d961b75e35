/** How to read a Temporal history: times, payloads, and the markers of local activities. */
import { defaultPayloadConverter } from '@temporalio/common';
import type { temporal } from '@temporalio/proto';
import type { AttemptRecord } from '../protocol/shapes';

export type HistoryEvent = temporal.api.history.v1.IHistoryEvent;
type Payload = temporal.api.common.v1.IPayload;

/** What the marker of a local activity says of it. */
interface MarkerData {
  activity_type: string;
  /** When it was scheduled, by the worker's clock. */
  original_schedule_time?: Timestamp;
  /** Workflow time at its end: the task's start plus the time that local activities took since. */
  complete_time?: Timestamp;
}

interface Timestamp {
  seconds: number;
  nanos: number;
}

/** What is read of a decision. */
export interface RoutedFacts {
  decision: {
    at: string;
    decision_id: string;
    route_reason: string;
    chosen: { agent_name: string; agent_version: string };
  };
}

/** A local activity as its marker tells it. Times are milliseconds since the epoch. */
export interface LocalRun {
  type: string;
  startMs: number;
  /** In workflow time, which only local activities advance within a task. */
  endMs: number;
  failure: string | undefined;
  result:
    | {
        stands?: boolean;
        attempts?: AttemptRecord[];
        routed?: RoutedFacts | null;
        /** Of the fast path. */
        outcome?: { attempts: AttemptRecord[] } | null;
      }
    | undefined;
}

/** The local activity behind a marker; null for every other event. */
export function localActivity(event: HistoryEvent): LocalRun | null {
  const marker = event.markerRecordedEventAttributes;
  if (marker?.markerName !== 'core_local_activity') return null;
  const data = decodeFirst<MarkerData>(marker.details?.data);
  return {
    type: data?.activity_type ?? '',
    startMs: toMillis(data?.original_schedule_time) ?? eventTime(event),
    endMs: toMillis(data?.complete_time) ?? eventTime(event),
    failure: marker.failure?.message ?? undefined,
    result: decodeFirst(marker.details?.result),
  };
}

/** The first payload as JSON; undefined when there is none or it cannot be read. */
export function decodeFirst<T>(payloads: { payloads?: Payload[] | null } | null | undefined): T | undefined {
  const payload = payloads?.payloads?.[0];
  try {
    return payload ? defaultPayloadConverter.fromPayload<T>(payload) : undefined;
  } catch {
    return undefined;
  }
}

/** When an event happened, milliseconds since the epoch. */
export function eventTime({ eventTime: time }: HistoryEvent): number {
  return toMillis({ seconds: Number(time?.seconds ?? 0), nanos: time?.nanos ?? 0 }) ?? 0;
}

function toMillis(time: Timestamp | undefined): number | undefined {
  return time && time.seconds * 1_000 + time.nanos / 1e6;
}
