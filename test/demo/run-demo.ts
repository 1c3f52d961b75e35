/** Runs the compiled demo as a user does, with a mark on its whole process tree. */
import { spawn, type ChildProcess } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { allGone, processesMarked, type Found } from './processes';

const EXAMPLES = resolve(__dirname, '../../dist/examples');
const DEMO = 'ticket-desk/demo.js';

/** A ticket as in `tickets.jsonl`. */
export interface TestTicket {
  id: string;
  lang: string;
  text: string;
  agent: string;
  has_photo?: boolean;
  user_tone?: string;
}

export class DemoRun {
  stdout = '';
  stderr = '';
  readonly #dir = mkdtempSync(join(tmpdir(), 'demo-test-'));
  readonly #mark = `DEMO_TEST_MARK=${randomUUID()}`;
  readonly #child: ChildProcess;
  readonly #closed: Promise<unknown[]>;
  #onStderr: () => void = () => undefined;

  /** @param tickets of the ticket desk; null for an example that takes none @param program below `examples/` */
  constructor(tickets: readonly TestTicket[] | null, args: readonly string[] = [], program = DEMO) {
    const file = join(this.#dir, 'tickets.jsonl');
    if (tickets) writeFileSync(file, tickets.map((ticket) => `${JSON.stringify(ticket)}\n`).join(''));
    const [name = '', value] = this.#mark.split('=');
    const all = tickets ? ['--tickets', file, ...args] : args;
    this.#child = spawn(process.execPath, [join(EXAMPLES, program), ...all], {
      stdio: ['ignore', 'pipe', 'pipe'],
      env: { ...process.env, [name]: value, TMPDIR: this.#dir },
    });
    this.#child.stdout?.setEncoding('utf8').on('data', (chunk: string) => (this.stdout += chunk));
    this.#child.stderr?.setEncoding('utf8').on('data', (chunk: string) => {
      this.stderr += chunk;
      this.#onStderr();
    });
    this.#closed = once(this.#child, 'close');
  }

  /** Resolves once standard error has such a line; rejects when the demo ends before. */
  async said(pattern: RegExp): Promise<void> {
    const heard = new Promise<void>((done) => {
      const listen = () => pattern.test(this.stderr) && done();
      this.#onStderr = listen;
      listen();
    });
    const ended = this.#closed.then(() =>
      Promise.reject(new Error(`the demo ended without ${pattern}:\n${this.stderr}`)),
    );
    await Promise.race([heard, ended]);
  }

  kill(signal: NodeJS.Signals): void {
    this.#child.kill(signal);
  }

  /** The exit code, once the demo has ended and its output is read. */
  async exitCode(): Promise<number> {
    const [code] = await this.#closed;
    return code as number;
  }

  /** Its processes that run now, itself included. */
  processes(): Found[] {
    return processesMarked(this.#mark);
  }

  /** Resolves when nothing that it started runs any more. */
  gone(): Promise<void> {
    return allGone(this.#mark);
  }

  /** What it has left in the temporary directory. */
  leftovers(): string[] {
    return readdirSync(this.#dir).filter((name) => name.startsWith('agent-reach-demo-'));
  }

  /** Ends whatever is left, for tests that failed. */
  async cleanUp(): Promise<void> {
    for (const { pid } of this.processes()) tryKill(pid);
    await this.gone();
    rmSync(this.#dir, { recursive: true, force: true });
  }
}

function tryKill(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL');
  } catch {
    // It has ended by itself meanwhile.
  }
}
