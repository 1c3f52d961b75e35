/** Ids of deliveries (R5). Plain code without zod: the workflow's sandbox may run it. */

/** The end of which run of which reach; `kind` tells the callback from the `reply_to` of the same run. */
export interface DeliveryKey {
  reachId: string;
  runId: string;
  kind: 'callback' | 'reply';
}

const FORM = /^cb-([a-z2-7]{32})-([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})(-r)?$/;

/** The id of a delivery: derived, so that starting it twice is starting it once. Also its `webhook-id`. */
export function callbackId({ reachId, runId, kind }: DeliveryKey): string {
  return `cb-${reachId.replace(/^r-/, '')}-${runId}${kind === 'reply' ? '-r' : ''}`;
}

/** What an id was derived from; null for anything else. */
export function parseCallbackId(id: string): DeliveryKey | null {
  const [, hash, runId, reply] = FORM.exec(id) ?? [];
  if (hash === undefined || runId === undefined) return null;
  return { reachId: `r-${hash}`, runId, kind: reply === undefined ? 'callback' : 'reply' };
}
