/**
 * What crosses the border of the `publish` workflow. Types and plain constants only, so that the gateway may import it.
 */
import type { ErrorCode } from '../src/protocol/error-codes';
import type { PublishedEvent } from '../src/protocol/published-event';
import type { WrittenSubscribers } from '../src/protocol/subscriber-list';

/** Workflow type, as the Temporal Web UI shows it. */
export const PUBLISH_WORKFLOW = 'publish';

/** How an event is handed out; fixed when it is accepted, so that a new release changes nothing that is under way. */
export interface FanOut {
  /** Subscribers handed to one activity. */
  batch: number;
  /** After so many batches the run continues as a new one, long before a history of 1,000 events. */
  batches_per_run: number;
}

/** Fan-out unless a test says otherwise. */
export const FAN_OUT: FanOut = { batch: 50, batches_per_run: 100 };

export interface PublishInput {
  tenant: string;
  event: PublishedEvent;
  /** All of them, also in runs that continue another. */
  subscribers: WrittenSubscribers;
  trace_id: string;
  /** Digest of the event; the same source and id with another digest is refused. */
  fingerprint: string;
  fan_out: FanOut;
  /** Set in runs that continue another. */
  progress?: PublishProgress;
}

/** How far an event has come. */
export interface PublishProgress {
  /** Subscribers done with, in the order of the list. */
  done: number;
  started: number;
  /** Started without an agent being found for it: their reaches end as dead letters unless one appears. */
  unrouted: DeliveryTrouble[];
  unrouted_count: number;
  /** Could not be started at all: a defect of ours. */
  failed: DeliveryTrouble[];
  failed_count: number;
}

/** A subscriber that did not simply get its reach. */
export interface DeliveryTrouble {
  subscription: string;
  reach_id: string;
  code: ErrorCode;
}

/** What a completed publish returns. */
export type PublishOutput = Omit<PublishProgress, 'done'> & { matched: number };

/** The kept facts of a publish. */
export interface PublishMemo extends Record<string, unknown> {
  fingerprint: string;
  topic: string;
  source: string;
  event_id: string;
  matched: number;
}

/** One batch: subscribers `from` up to `from + count` of the list. */
export interface DeliverInput {
  tenant: string;
  event: PublishedEvent;
  subscribers: WrittenSubscribers;
  from: number;
  count: number;
  trace_id: string;
}

/** What came of one batch. */
export interface DeliverOutput {
  started: number;
  unrouted: DeliveryTrouble[];
  failed: DeliveryTrouble[];
}

/** The activities a worker offers to `publish`. */
export interface PublishActivities {
  /**
   * Starts one reach for each subscriber of the batch; a repeat starts nothing twice.
   * @throws ApplicationFailure, to be retried, while Temporal does not take them
   */
  deliverEvent(input: DeliverInput): Promise<DeliverOutput>;
}
