import { AbstractConnector } from 'ioredis';
import { connect as connectPlain, isIP, type Socket } from 'node:net';
import { connect as connectTls } from 'node:tls';
import type { BrokerPlace, EgressPolicy } from '../../policy/egress';
import { guardedLookup } from '../http/dispatcher';

/** How long an ended connection may take to close, ms. */
const DISCONNECT_MS = 2_000;

/**
 * How the library connects to one broker: only to addresses that the egress policy allows, the very ones that were checked.
 * Made as a class because that is what the library takes.
 */
export function guardedConnector(place: BrokerPlace, egress: EgressPolicy): new () => AbstractConnector {
  return class extends AbstractConnector {
    constructor() {
      super(DISCONNECT_MS);
    }

    override connect(): Promise<Socket> {
      this.connecting = true;
      const { host, port, tls } = place;
      const options = { host, port, lookup: guardedLookup(egress) };
      const stream = tls
        ? connectTls({ ...options, ...(isIP(host) === 0 && { servername: host }) })
        : connectPlain(options);
      stream.once('error', (error) => (this.firstError = error));
      this.stream = stream;
      return Promise.resolve(stream);
    }
  };
}
