import { connect, createServer, type AddressInfo, type Server } from 'node:net';

/** Engines are reachable from this machine only. */
export const LOOPBACK = '127.0.0.1';

/**
 * As many different free ports as asked for. All are held until the last is known, or the system might give one twice;
 * another program can still take one before the engine does, so starting with them is tried again (see `launch`).
 */
export async function freePorts(count: number): Promise<number[]> {
  const servers = await Promise.all(Array.from({ length: count }, () => listen(0)));
  const ports = servers.map((server) => (server.address() as AddressInfo).port);
  await Promise.all(servers.map((server) => new Promise((resolve) => server.close(resolve))));
  return ports;
}

/** Whether something accepts connections on a loopback port. */
export function isListening(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect({ host: LOOPBACK, port });
    const settle = (listening: boolean) => (): void => {
      socket.destroy();
      resolve(listening);
    };
    socket.once('connect', settle(true)).once('error', settle(false));
  });
}

/** Whether a server could listen on this loopback port now. */
export function isFree(port: number): Promise<boolean> {
  return listen(port).then(
    (server) => new Promise((resolve) => server.close(() => resolve(true))),
    () => false,
  );
}

function listen(port: number): Promise<Server> {
  return new Promise((resolve, reject) => {
    const server = createServer();
    server.once('error', reject);
    server.listen(port, LOOPBACK, () => resolve(server));
  });
}
