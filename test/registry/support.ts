import { randomUUID } from 'node:crypto';
import { connect, createServer, type AddressInfo, type Socket } from 'node:net';
import type { Etcd3 } from 'etcd3';
import { descriptorSchema, type Descriptor, type DescriptorDraft } from '../../src/protocol/descriptor';
import { ReachError } from '../../src/protocol/reach-error';
import { createEtcd, type Logger, type RegistryOptions } from '../../src/registry';
import { waitFor } from '../support/wait-for';

/** The etcd that all test files share. */
export function sharedEtcdAddress(): string {
  const address = process.env.TEST_ETCD_ADDRESS;
  if (address === undefined) throw new Error('TEST_ETCD_ADDRESS is not set; run through jest with its global setup');
  return address;
}

/** Log lines of warnings and errors, for tests that look at them. */
export interface RecordingLogger extends Logger {
  lines: { message: string; details: object }[];
}

export function recordingLogger(): RecordingLogger {
  const lines: RecordingLogger['lines'] = [];
  const keep = (details: object, message: string) => void lines.push({ message, details });
  return { lines, debug: () => undefined, info: keep, warn: keep, error: keep };
}

/** Options of a registry of its own: a random prefix on the shared etcd. Things to close are closed by {@link Place.close}. */
export interface Place {
  etcd: Etcd3;
  options: RegistryOptions & { keyPrefix: string; logger: RecordingLogger };
  /** Runs at the end, last first. */
  onClose(run: () => unknown): void;
  close(): Promise<void>;
}

export function openPlace(address = sharedEtcdAddress()): Place {
  const etcd = createEtcd({ hosts: address });
  const closers: (() => unknown)[] = [];
  return {
    etcd,
    options: { etcd, keyPrefix: `/test-${randomUUID()}`, tenant: 'default', logger: recordingLogger() },
    onClose: (run) => void closers.unshift(run),
    async close() {
      for (const run of closers) await run();
      etcd.close();
    },
  };
}

/** For one suite: how its tests open places, which are closed after each of them. */
export function placesForEachTest(): (address?: string) => Place {
  const places: Place[] = [];
  afterEach(async () => {
    for (const place of places.splice(0)) await place.close();
  });
  return (address) => {
    const place = openPlace(address);
    places.push(place);
    return place;
  };
}

/** A valid descriptor with one ability. */
export function descriptorOf(draft: Partial<DescriptorDraft> = {}): Descriptor {
  return descriptorSchema.parse({ name: 'refund', version: '1.0.0', capabilities: ['refund_order'], ...draft });
}

/** {@link waitFor} where the check says what it is about. */
export function eventually<T>(
  check: () => T | Promise<T>,
  timeoutMs?: number,
): Promise<Exclude<T, false | null | undefined>> {
  return waitFor('what was expected', check, timeoutMs);
}

/** The ReachError that a promise is rejected with. */
export async function refusal(promise: Promise<unknown>): Promise<ReachError> {
  const error = await promise.then(
    () => new Error('was expected to be refused'),
    (caught: unknown) => caught,
  );
  if (error instanceof ReachError) return error;
  throw error;
}

/** A TCP relay that can be cut: open connections break, new ones are refused until it is mended. */
export interface Relay {
  address: string;
  cut(): void;
  mend(): void;
  close(): Promise<void>;
}

export async function openRelay(target: string): Promise<Relay> {
  const [host, port] = target.split(':');
  const sockets = new Set<Socket>();
  let broken = false;
  const server = createServer((client) => {
    if (broken) return client.destroy();
    const upstream = connect({ host: host!, port: Number(port) });
    for (const socket of [client, upstream]) {
      sockets.add(socket);
      socket.on('close', () => sockets.delete(socket)).on('error', () => undefined);
    }
    client.pipe(upstream).pipe(client);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const cut = () => {
    broken = true;
    for (const socket of sockets) socket.destroy();
  };
  return {
    address: `127.0.0.1:${(server.address() as AddressInfo).port}`,
    cut,
    mend: () => void (broken = false),
    close: () => {
      cut();
      return new Promise((resolve) => server.close(() => resolve()));
    },
  };
}
