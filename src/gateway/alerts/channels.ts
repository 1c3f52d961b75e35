/** Where alerts go: the log, a topic, a URL. The metric is counted by the telemetry's own channel. */
import { createHash } from 'node:crypto';
import { DEFAULT_TERMS } from '../../protocol/event-envelope';
import { ALERT_SOURCE } from '../../protocol/platform-sources';
import type { JsonObject } from '../../protocol/shapes';
import type { DeliveryStarter } from '../callbacks/starter';
import type { EventPublisher } from '../event-publisher';
import type { Alert, AlertChannel } from './alert';

/** Alerts are published here; subscribe an agent or an ability to hear of them. */
export const ALERT_TOPIC = 'agent-reach.alerts';

/** What a log takes. */
interface Log {
  info(facts: object, message: string): void;
  warn(facts: object, message: string): void;
  error(facts: object, message: string): void;
}

const LEVELS = { info: 'info', warning: 'warn', critical: 'error' } as const;

/** One line for each alert: `critical` as an error, `warning` as a warning. */
export function logChannel(log: Log): AlertChannel {
  return {
    name: 'log',
    send({ kind, key, severity, message, details, id }) {
      log[LEVELS[severity]]({ alert: kind, key, details, alert_id: id }, message);
    },
  };
}

/** The topic {@link ALERT_TOPIC}; an event's type is `agent-reach.alert.` and the kind. */
export function topicChannel(publisher: Pick<EventPublisher, 'publish'>): AlertChannel {
  return {
    name: `topic ${ALERT_TOPIC}`,
    async send(alert) {
      const { id, kind, at } = alert;
      const attributes = { id, source: ALERT_SOURCE, type: `agent-reach.alert.${kind}`, subject: kind, time: at };
      const event = {
        topic: ALERT_TOPIC,
        attributes,
        payload: payloadOf(alert),
        identity: { key: id, by: 'id' as const },
        terms: DEFAULT_TERMS,
      };
      await publisher.publish(event, { traceId: '', waitMs: 0 });
    },
  };
}

/** `alerts.callback_url`: signed per Standard Webhooks and durable, as the ends of reaches are. */
export function callbackChannel(starter: Pick<DeliveryStarter, 'startTold'>, url: string): AlertChannel {
  return {
    name: 'callback',
    async send(alert) {
      const told = { type: `agent-reach.alert.${alert.kind}`, endedAt: alert.at, view: payloadOf(alert) };
      await starter.startTold({ id: deliveryIdOf(alert), about: 'alert', url, told });
    },
  };
}

function payloadOf({ id, kind, key, severity, message, details, at }: Alert): JsonObject {
  return { id, kind, key, severity, message, details, at };
}

const BASE32 = 'abcdefghijklmnopqrstuvwxyz234567';

/** In the form of all ids of deliveries, so that `GET /v1/callbacks/{id}` finds it. */
function deliveryIdOf({ id, kind }: Alert): string {
  const digest = createHash('sha256').update(`${kind}\u0000${id}`).digest();
  const letters = Array.from(digest, (byte) => BASE32[byte & 31]).join('');
  return `cb-${letters}-${id}`;
}
