import type { JsonObject } from '../../protocol/shapes';

/** How bad it is: `info` to know of, `warning` to look at, `critical` to act on. */
export type AlertSeverity = 'info' | 'warning' | 'critical';

/** What is raised. */
export interface AlertInput {
  /** Of a closed set, such as `unlisted_version`: the label of the metric and the end of the event's type. */
  kind: string;
  /** What it is about; the same kind and key is raised once in its window, by whatever process. */
  key: string;
  severity: AlertSeverity;
  /** For people: what is, and what to do. */
  message: string;
  /** The figures. No secrets. */
  details: JsonObject;
  /** How long the same is not raised again, ms; default {@link DEFAULT_WINDOW_MS}. */
  windowMs?: number;
}

/** Unless told otherwise the same is raised at most once an hour. */
export const DEFAULT_WINDOW_MS = 3_600_000;

/** An alert that was raised, as its channels carry it. */
export interface Alert extends Omit<AlertInput, 'windowMs'> {
  /** UUID; also the id of the event. */
  id: string;
  /** ISO 8601. */
  at: string;
}

/** Where alerts go. `send` may throw; it is then tried again a few times, and given up with a line in the log. */
export interface AlertChannel {
  name: string;
  send(alert: Alert): Promise<void> | void;
}

/** Where alerts are raised. Never throws and never holds anybody up. */
export interface AlertSink {
  /** Answers whether this process raised it: false when it, or another, has lately. */
  raise(alert: AlertInput): Promise<boolean>;
}
