/** Agent-Reach with the four agents, in a process tree of its own that never outlives the demo. */
import { spawn, type ChildProcess } from 'node:child_process';
import { closeSync, mkdtempSync, openSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { withoutOverrides } from '../../../src/config';

const DEV = resolve(__dirname, '../../../src/dev.js');
const LOG_TAIL_LINES = 15;
/** Longer than `dev` takes with all its own patience. */
const STOP_TIMEOUT_MS = 45_000;

/** Where the running platform is to be seen. */
export interface Links {
  gateway: string;
  docs: string;
  /** The Temporal Web UI. */
  temporal: string;
}

export class DemoPlatform {
  readonly #dataDir = mkdtempSync(join(tmpdir(), 'agent-reach-demo-'));
  readonly #logFile = join(this.#dataDir, 'dev.log');
  readonly #child: ChildProcess;
  readonly #exited: Promise<void>;

  /** Starts it; {@link ready} waits for it. @param more further arguments of `agent-reach dev` */
  constructor(more: readonly string[] = ['--with-examples']) {
    const log = openSync(this.#logFile, 'a');
    this.#child = spawn(process.execPath, [DEV, '--port', '0', '--data-dir', this.#dataDir, ...more], {
      // Ctrl-C reaches only us, who stop it in order; and if we are killed, the pipe to it closes and it stops by itself.
      stdio: ['pipe', 'pipe', log],
      detached: true,
      // A platform of its own, whatever the shell points at.
      env: { ...withoutOverrides(process.env), AGENT_REACH_STOP_WITH_PARENT: '1' },
    });
    closeSync(log);
    this.#exited = new Promise((done) => this.#child.once('exit', () => done()).once('error', () => done()));
  }

  /** The links, once everything answers. Rejects with the end of the log when it ends first. */
  async ready(): Promise<Links> {
    const output = new Promise<string>((done) => {
      let seen = '';
      this.#child.stdout?.setEncoding('utf8').on('data', (chunk: string) => {
        seen += chunk;
        if (/^ready \S+$/m.test(seen)) done(seen);
      });
    });
    const text = await Promise.race([output, this.ended()]);
    const find = (pattern: RegExp) => pattern.exec(text)?.[1] ?? '';
    return {
      gateway: find(/^ready (\S+)$/m),
      docs: find(/^API docs\s+(\S+)$/m),
      temporal: find(/^Temporal UI\s+(\S+)$/m),
    };
  }

  /** Rejects when the platform ends, with the end of its log; never resolves. */
  async ended(): Promise<never> {
    await this.#exited;
    throw new Error(`Agent-Reach has ended (${this.#child.signalCode ?? this.#child.exitCode}):\n${this.#logTail()}`);
  }

  /** Stops everything, engines included, and removes the data. */
  async stop(): Promise<void> {
    const insist = setTimeout(() => this.#child.kill('SIGKILL'), STOP_TIMEOUT_MS);
    this.#child.kill('SIGTERM');
    await this.#exited;
    clearTimeout(insist);
    rmSync(this.#dataDir, { recursive: true, force: true, maxRetries: 3 });
  }

  #logTail(): string {
    const lines = readFileSync(this.#logFile, 'utf8').trimEnd().split('\n');
    return lines.slice(-LOG_TAIL_LINES).join('\n');
  }
}
