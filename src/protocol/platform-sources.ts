/** Who the platform's own events are from. Nobody else may speak as it: an event that was posted first under an id is the event. */
import { ReachError } from './reach-error';

/** Source of the events that tell how reaches ended (`reply_to`). */
export const ENDS_SOURCE = '/v1/reaches';
/** Source of alerts. */
export const ALERT_SOURCE = '/v1/alerts';

const OURS: ReadonlySet<string> = new Set([ENDS_SOURCE, ALERT_SOURCE]);

/** @throws ReachError `forbidden`, with the pointer to what names the source */
export function assertNotOurs(source: string, pointer: string): void {
  if (!OURS.has(source)) return;
  const message = `is ${source}, from which only the platform itself tells`;
  throw new ReachError('forbidden', `The event's source ${message}; name your own`, {
    errors: [{ pointer, message, fix: 'name the service or agent that the event is about' }],
  });
}
