/** One message of a reach's event stream. */
export interface StreamedEvent {
  event: string;
  id: string;
  data: { seq: number } & Record<string, unknown>;
}

/** Reads the whole event stream of a reach, which ends by itself. @throws when it is refused */
export async function readEvents(gateway: string, reachId: string, lastEventId?: string): Promise<StreamedEvent[]> {
  const headers: Record<string, string> = lastEventId === undefined ? {} : { 'last-event-id': lastEventId };
  const response = await fetch(`${gateway}/v1/reaches/${reachId}/events`, { headers });
  const text = await response.text();
  if (response.status !== 200) throw new Error(`${response.status} ${text}`);
  return text.split('\n\n').flatMap((block) => {
    const field = (name: string) => new RegExp(`^${name}: ?(.*)$`, 'm').exec(block)?.[1];
    const data = field('data');
    if (data === undefined) return [];
    return [{ event: field('event') ?? '', id: field('id') ?? '', data: JSON.parse(data) as StreamedEvent['data'] }];
  });
}
