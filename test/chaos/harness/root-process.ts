import { spawn, type ChildProcess } from 'node:child_process';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { compiled } from './place';

/** How a root is run. */
export interface RootOptions {
  root: 'gateway' | 'worker';
  args: string[];
  /** For Node itself, such as a heap limit. */
  nodeArgs?: string[];
  env?: Record<string, string>;
}

const STOP_GRACE_MS = 25_000;
/** How long a root may take to be ready for the first time; on a busy machine it gives up on an engine and is started again. */
const START_LIMIT_MS = 90_000;
const KEPT_CHARACTERS = 4_000;
/** How a log line begins its account of an error that is a defect: no engine that was down, no caller's mistake. */
const DEFECT = '"code":"internal"';
const KEPT_ERRORS = 3;
/** A root that dies at once is not started again faster than this. */
const RESTART_PAUSE_MS = 200;
/** Ends the child when our end of its standard input closes, however we die. */
const STOP_WITH_PARENT = { AGENT_REACH_STOP_WITH_PARENT: '1' };
/** As the image sets them; docs/operations.md says why. */
const LEAN = { MALLOC_ARENA_MAX: '2', NODE_OPTIONS: '--max-semi-space-size=4' };

/** A gateway or worker as a process under supervision: started again whenever it ends without being told to. */
export class RootProcess {
  private child: ChildProcess | null = null;
  private exited: Promise<number | null> = Promise.resolve(null);
  private readying: Promise<void> = Promise.resolve();
  private isWanted = true;
  private said = '';
  private readonly complaints = new Set<string>();
  /** How often it was started again by the supervision. */
  restarts = 0;

  private constructor(private options: RootOptions) {}

  /** Starts it and waits until it is ready. @throws Error with its last words when that takes too long; then nothing runs */
  static async start(options: RootOptions): Promise<RootProcess> {
    const root = new RootProcess(options);
    root.spawn();
    const isReady = await Promise.race([
      root.whenReady().then(() => true),
      sleep(START_LIMIT_MS, false, { ref: false }),
    ]);
    if (!isReady) {
      await root.stop();
      throw new Error(`${options.root} was not ready within ${START_LIMIT_MS} ms: ${root.lastWords()}`);
    }
    root.restarts = 0;
    return root;
  }

  get pid(): number {
    return this.child?.pid ?? -1;
  }

  /** Resolves when the current process has said that it is ready; a supervised restart is waited through. */
  async whenReady(): Promise<void> {
    while (this.isWanted) {
      const { readying } = this;
      await readying.catch(() => undefined);
      if (readying === this.readying && this.child) return;
      await sleep(50);
    }
  }

  /** Sends a signal and, when it ends the process, waits for that. The supervision starts it again. */
  async kill(signal: NodeJS.Signals): Promise<number | null> {
    const { exited } = this;
    this.child?.kill(signal);
    return exited;
  }

  /** Ends it in order and waits until the supervision has started it again with these variables besides its own. */
  async restartWith(env: Record<string, string>): Promise<void> {
    this.options = { ...this.options, env: { ...this.options.env, ...env } };
    await this.kill('SIGTERM');
    await this.whenReady();
  }

  /** Ends it for good; returns its exit code, null when a signal ended it. */
  async stop(): Promise<number | null> {
    this.isWanted = false;
    const { child, exited } = this;
    if (!child) return exited;
    child.kill('SIGTERM');
    child.kill('SIGCONT');
    const insist = setTimeout(() => child.kill('SIGKILL'), STOP_GRACE_MS);
    const code = await exited;
    clearTimeout(insist);
    return code;
  }

  /** Defects that it logged, a few different ones. */
  get defects(): string[] {
    return [...this.complaints];
  }

  /** The end of what it wrote to standard error. */
  lastWords(): string {
    return this.said;
  }

  private spawn(): void {
    const { root, args, nodeArgs = [], env } = this.options;
    const child = spawn(process.execPath, [...nodeArgs, compiled('src', `${root}.js`), ...args], {
      // A group of its own: Ctrl-C reaches the harness only, which stops everything in order.
      detached: true,
      stdio: ['pipe', 'pipe', 'pipe'],
      env: { ...process.env, ...LEAN, ...STOP_WITH_PARENT, ...env },
    });
    child.stdin?.on('error', () => undefined);
    child.stderr?.on('data', (chunk: Buffer) => {
      this.said = (this.said + chunk.toString('utf8')).slice(-KEPT_CHARACTERS);
    });
    if (child.stderr) createInterface({ input: child.stderr }).on('line', (line) => this.note(line));
    this.child = child;
    this.exited = new Promise((done) => child.once('exit', (code) => done(code)));
    this.readying = ready(child, () => `${root}: ${this.said}`);
    this.readying.catch(() => undefined);
    void this.exited.then(() => this.ended());
  }

  private note(line: string): void {
    if (!line.includes(DEFECT) || this.complaints.size >= KEPT_ERRORS) return;
    this.complaints.add(toldBy(line).slice(0, 600));
  }

  private async ended(): Promise<void> {
    this.child = null;
    await sleep(RESTART_PAUSE_MS);
    if (!this.isWanted) return;
    this.restarts += 1;
    this.spawn();
  }
}

/** Message and stack of a log line; the line itself where a killed process could not finish it. */
function toldBy(line: string): string {
  try {
    const { msg, err } = JSON.parse(line) as { msg?: string; err?: { stack?: string } };
    return [msg, err?.stack].filter(Boolean).join(': ');
  } catch {
    return line;
  }
}

function ready(child: ChildProcess, lastWords: () => string): Promise<void> {
  return new Promise((done, fail) => {
    let seen = '';
    child.stdout?.on('data', (chunk: Buffer) => {
      if (seen.length > KEPT_CHARACTERS) return;
      seen += chunk.toString('utf8');
      if (/^ready \S+$/m.test(seen)) done();
    });
    child.once('exit', (code, signal) =>
      fail(new Error(`ended (${signal ?? code}) before it was ready; ${lastWords()}`)),
    );
  });
}
