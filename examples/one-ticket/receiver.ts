/** Somebody outside, who is called back when a ticket is done: verifies with a stock Standard Webhooks library. */
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Webhook } from 'standardwebhooks';

/** A callback that was verified. */
export interface Heard {
  id: string;
  type: string;
  status: string;
}

export class Receiver {
  readonly #server: Server;
  readonly #heard: Promise<Heard>;

  private constructor(secret: string) {
    this.#server = createServer();
    this.#heard = new Promise((resolve) => {
      this.#server.on('request', (request, response) => {
        const parts: Buffer[] = [];
        request.on('data', (part: Buffer) => parts.push(part));
        request.on('end', () => {
          const headers = request.headers as Record<string, string>;
          try {
            // Throws when the signature or the time is wrong.
            const event = new Webhook(secret).verify(Buffer.concat(parts).toString(), headers) as {
              type: string;
              data: { status: string };
            };
            response.writeHead(204).end();
            resolve({ id: headers['webhook-id'] ?? '', type: event.type, status: event.data.status });
          } catch {
            response.writeHead(401).end();
          }
        });
      });
    });
  }

  static async listen(secret: string): Promise<Receiver> {
    const receiver = new Receiver(secret);
    await new Promise<void>((resolve) => receiver.#server.listen(0, '127.0.0.1', resolve));
    return receiver;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}/`;
  }

  /** The first callback that verifies. */
  heard(): Promise<Heard> {
    return this.#heard;
  }

  close(): void {
    this.#server.close();
    this.#server.closeAllConnections();
  }
}
