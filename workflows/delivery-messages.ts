/** What crosses the border of `deliverCallback`, and of the step in which a reach asks for it. Types and plain constants only. */
import type { Callback, DeliveryError, DeliveryTarget, ReplyTo } from '../src/protocol/callback-target';

/** Workflow type, as the Temporal Web UI shows it. */
export const CALLBACK_WORKFLOW = 'deliverCallback';

/** The end of which run is to be told to whom. */
export interface NotifyInput {
  reach_id: string;
  run_id: string;
  callback?: Callback;
  reply_to?: ReplyTo;
}

/** The step of a reach that ends and has somebody to tell. */
export interface NotifyActivities {
  /** Starts a delivery for each target; one that was started before stays as it is. */
  notify(input: NotifyInput): Promise<void>;
}

/** One delivery. What is delivered is read when it is, so it is never in this history. */
export interface DeliverCallbackInput {
  /** The workflow's own id; also the `webhook-id`. */
  id: string;
  reach_id: string;
  run_id: string;
  to: DeliveryTarget;
  /** Waits before the second, third, … attempt, ms. */
  delays_ms: number[];
  /** For one attempt, ms. */
  timeout_ms: number;
  /** From the first attempt to giving up, ms. */
  max_age_ms: number;
  /** Where attempts are made: a queue of their own, so that receivers that hang hold up no agent. */
  task_queue: string;
}

/** A delivery that has arrived. */
export interface DeliveryDone {
  attempts: number;
}

/** Detail of the failure of an attempt, and of the delivery in the end. */
export interface DeliveryFailure extends DeliveryError {
  attempts: number;
}

/** The kept facts of a delivery. `outcome` once it is over. */
export interface DeliveryMemo extends Record<string, unknown> {
  reach_id: string;
  run_id: string;
  to: DeliveryTarget;
  outcome?: DeliveryDone | DeliveryFailure;
}

/** The activity of `deliverCallback`. */
export interface DeliveryActivities {
  /** One attempt. @throws ApplicationFailure with a {@link DeliveryFailure} as detail */
  deliver(input: DeliverCallbackInput): Promise<DeliveryDone>;
}
