import { connect, createServer, type AddressInfo, type Socket } from 'node:net';

/** A TCP relay in front of etcd whose line can be cut or go dead. */
export interface FaultyRelay {
  address: string;
  /** Open connections break, new ones are refused at once. */
  cut(): void;
  /** Nothing passes any more, in either direction, and nobody is told; new connections are taken and say nothing. */
  silence(): void;
  /** New connections are relayed again. Silent ones stay silent, as after a NAT or a load balancer forgot them. */
  mend(): void;
  close(): Promise<void>;
}

export async function openFaultyRelay(target: string): Promise<FaultyRelay> {
  const [host, port] = target.split(':');
  const sockets = new Set<Socket>();
  let state: 'whole' | 'cut' | 'silent' = 'whole';
  const keep = (socket: Socket) => {
    sockets.add(socket);
    socket.on('close', () => sockets.delete(socket)).on('error', () => undefined);
  };
  const server = createServer((client) => {
    keep(client);
    if (state === 'cut') return client.destroy();
    if (state === 'silent') return client.pause();
    const upstream = connect({ host: host!, port: Number(port) });
    keep(upstream);
    client.pipe(upstream).pipe(client);
    client.on('close', () => upstream.destroy());
    upstream.on('close', () => client.destroy());
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const cut = () => {
    state = 'cut';
    for (const socket of sockets) socket.destroy();
  };
  return {
    address: `127.0.0.1:${(server.address() as AddressInfo).port}`,
    cut,
    silence() {
      state = 'silent';
      for (const socket of sockets) socket.unpipe().pause();
    },
    mend: () => void (state = 'whole'),
    close() {
      cut();
      return new Promise((resolve) => server.close(() => resolve()));
    },
  };
}
