/** What crosses the border of `deliverCallback`, and of the step in which a reach asks for it. Types and plain constants only. */
import type { Callback, DeliveryError, DeliveryTarget, ReplyTo } from '../src/protocol/callback-target';
import type { JsonObject } from '../src/protocol/shapes';

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

/** What is told where it is no reach's end, such as an alert. */
export interface ToldMessage {
  /** Of the message, such as `agent-reach.alert.unlisted_version`. */
  type: string;
  /** ISO time of what it is about. */
  endedAt: string;
  view: JsonObject;
}

/** One delivery. The end of a reach is read when it is delivered, so it is never in this history. */
export interface DeliverCallbackInput {
  /** The workflow's own id; also the `webhook-id`. */
  id: string;
  reach_id: string;
  run_id: string;
  to: DeliveryTarget;
  /** In place of the end of a run; then {@link reach_id} only says what it is about. */
  told?: ToldMessage;
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
