/** Where the agents' effects happen: a place that outlives them, and compares fences as docs/delivery.md shows for a database. */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Effect } from '../checker/exactly-once';
import { http } from './http';
import { machineMs } from './store-journal';

/** An effect that is to be made. `fenced`: it is refused when one with a greater fence was there before. */
export interface Booking {
  key: string;
  fence: string;
  fenced: boolean;
}

/** Makes an effect at the ledger's URL; false when it was refused. @throws Error when the ledger does not answer */
export async function book(ledger: string, booking: Booking): Promise<boolean> {
  const answer = await http('POST', ledger, { body: booking, limitMs: 5_000 });
  if (!answer) throw new Error('the ledger does not answer');
  return answer.status === 200;
}

/** One row for each business key, and all effects that were taken. */
export class Ledger {
  /** Effects that were taken, by business key, in order. */
  readonly effects = new Map<string, Effect[]>();
  /** Effects that were refused for their fence. */
  refused = 0;
  private readonly greatest = new Map<string, string>();
  private readonly server: Server;

  private constructor() {
    this.server = createServer((request, response) => void this.serve(request, response));
  }

  static async open(): Promise<Ledger> {
    const ledger = new Ledger();
    await new Promise<void>((done) => ledger.server.listen(0, '127.0.0.1', done));
    return ledger;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.server.address() as AddressInfo).port}/`;
  }

  async close(): Promise<void> {
    this.server.closeAllConnections();
    await new Promise<unknown>((done) => this.server.close(done));
  }

  /** Takes an effect, at once; false when a greater fence was there before. */
  take({ key, fence, fenced }: Booking): boolean {
    if (fenced && (this.greatest.get(key) ?? '') > fence) {
      this.refused += 1;
      return false;
    }
    this.greatest.set(key, fence);
    this.effects.set(key, [...(this.effects.get(key) ?? []), { fence, taken_ms: machineMs() }]);
    return true;
  }

  private async serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const isTaken = this.take(JSON.parse(Buffer.concat(chunks).toString('utf8')) as Booking);
    response.writeHead(isTaken ? 200 : 409).end('{}');
  }
}
