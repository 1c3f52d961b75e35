import { connect, createServer, type AddressInfo, type Server, type Socket } from 'node:net';

/** What is done to the bytes on their way; all off by default. */
export interface Toxics {
  /** Each chunk is passed on this much later, ms. */
  latencyMs: number;
  /** Bytes towards the client are cut into pieces of this size, one every 20 ms; 0: as they come. */
  sliceBytes: number;
  /** The connection is reset after so many bytes towards the client; 0: never. */
  resetAfterBytes: number;
}

const NONE: Toxics = { latencyMs: 0, sliceBytes: 0, resetAfterBytes: 0 };
const SLICE_EVERY_MS = 20;

/** A TCP proxy on loopback between two parts of the platform, that can be cut and poisoned while it runs. */
export class TcpProxy {
  private readonly sockets = new Set<Socket>();
  private toxics = NONE;
  private isCut = false;
  /** How it is cut: connections stay open and dead. */
  private isSilent = false;

  private constructor(
    private readonly server: Server,
    private readonly target: { host: string; port: number },
  ) {}

  /** @param target `host:port` */
  static async open(target: string): Promise<TcpProxy> {
    const [host = '', port = ''] = target.split(':');
    const server = createServer({ allowHalfOpen: true });
    const proxy = new TcpProxy(server, { host, port: Number(port) });
    server.on('connection', (client) => proxy.join(client));
    await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
    return proxy;
  }

  /** `127.0.0.1:PORT` */
  get address(): string {
    return `127.0.0.1:${(this.server.address() as AddressInfo).port}`;
  }

  /** From now on: these toxics, for old connections too. */
  poison(toxics: Partial<Toxics>): void {
    this.toxics = { ...NONE, ...toxics };
  }

  /** Nothing passes any more. `silent`: connections stay open and dead, old ones and new ones, as behind a pulled cable; else they break. */
  cut({ silent = false } = {}): void {
    this.isCut = true;
    this.isSilent = silent;
    if (!silent) this.breakAll();
  }

  /** Lets new connections through; those that were cut in silence are broken, since their bytes are lost. */
  mend(): void {
    this.isCut = false;
    this.breakAll();
  }

  async close(): Promise<void> {
    this.breakAll();
    await new Promise<void>((done) => this.server.close(() => done()));
  }

  private breakAll(): void {
    for (const socket of this.sockets) socket.destroy();
    this.sockets.clear();
  }

  private join(client: Socket): void {
    this.keep(client);
    if (this.isCut) return this.isSilent ? hold(client) : void client.destroy();
    const upstream = connect(this.target);
    this.keep(upstream);
    const both = () => [client, upstream].forEach((socket) => socket.destroy());
    client.on('error', both).on('close', both);
    upstream.on('error', both).on('close', both);
    client.on('end', () => upstream.end());
    client.on('data', (chunk) => this.pass(() => upstream.write(chunk)));
    this.answer(upstream, client);
  }

  private keep(socket: Socket): void {
    socket.setNoDelay(true);
    this.sockets.add(socket);
    socket.once('close', () => this.sockets.delete(socket));
  }

  private pass(write: () => void): void {
    if (this.isCut) return;
    if (this.toxics.latencyMs > 0) setTimeout(write, this.toxics.latencyMs);
    else write();
  }

  /** Passes what the target says, in order whatever the toxics are. */
  private answer(upstream: Socket, client: Socket): void {
    let passed = 0;
    let queue = Promise.resolve();
    const send = async (chunk: Buffer) => {
      const { latencyMs, sliceBytes, resetAfterBytes } = this.toxics;
      if (this.isCut) return;
      if (latencyMs > 0) await pause(latencyMs);
      for (const piece of pieces(chunk, sliceBytes)) {
        if (resetAfterBytes > 0 && passed + piece.length > resetAfterBytes) return void client.resetAndDestroy();
        passed += piece.length;
        if (!client.destroyed) client.write(piece);
        if (sliceBytes > 0) await pause(SLICE_EVERY_MS);
      }
    };
    upstream.on('data', (chunk: Buffer) => {
      queue = queue.then(() => send(chunk));
    });
    upstream.on('end', () => {
      queue = queue.then(() => void client.end());
    });
  }
}

/** Takes what comes and says nothing, until the proxy breaks it or the client gives up. */
function hold(client: Socket): void {
  client.on('error', () => client.destroy()).on('end', () => client.destroy());
  client.resume();
}

function pieces(chunk: Buffer, size: number): Buffer[] {
  if (size === 0) return [chunk];
  return Array.from({ length: Math.ceil(chunk.length / size) }, (_, i) => chunk.subarray(i * size, (i + 1) * size));
}

function pause(ms: number): Promise<void> {
  return new Promise((done) => setTimeout(done, ms));
}
