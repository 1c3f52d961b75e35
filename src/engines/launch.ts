import { setTimeout as delay } from 'node:timers/promises';

import { EnginePortError, EngineStartError } from './errors';
import { logTail } from './log-file';
import { isFree } from './ports';
import { supervise, type Supervised, type SupervisedProcess } from './supervise';
import type { EngineExit, EngineName, RunningEngine } from './types';

const READY_TIMEOUT_MS = 60_000;
const STOP_GRACE_MS = 10_000;
const PORT_ATTEMPTS = 3;

/** Everything about one engine that is known before it runs. */
export interface Launch extends Supervised {
  address: string;
  uiUrl?: string;
  /** All that the engine will listen on. */
  ports: number[];
  /** Resolves when the engine serves; rejects when it never will. Gives up when the signal aborts. */
  ready: (signal: AbortSignal) => Promise<void>;
}

/**
 * Starts an engine and waits until it serves. `plan` is called again, for other ports, when a port it chose was taken
 * by someone else in the meantime (`mayReplan`: it chose at least one).
 *
 * @throws {EngineStartError} with the last lines of the engine's log.
 */
export async function launch(
  name: EngineName,
  plan: () => Promise<Launch>,
  mayReplan: boolean,
): Promise<RunningEngine & Required<Pick<RunningEngine, 'restart'>>> {
  for (let attempt = 1; ; attempt++) {
    const planned = await plan();
    try {
      return new ManagedEngine(name, planned, await boot(name, planned));
    } catch (error) {
      if (!(isPortTaken(error) && mayReplan && attempt < PORT_ATTEMPTS)) throw error;
    }
  }
}

function isPortTaken(error: unknown): boolean {
  if (error instanceof EnginePortError) return true;
  return error instanceof EngineStartError && /address already in use/i.test(error.logTail);
}

class ManagedEngine implements RunningEngine {
  readonly address: string;
  readonly uiUrl?: string;
  // Private at run time too: a printed engine shows no environment.
  readonly #plan: Launch;
  #process: SupervisedProcess;

  constructor(
    readonly name: EngineName,
    plan: Launch,
    running: SupervisedProcess,
  ) {
    this.#plan = plan;
    this.#process = running;
    this.address = plan.address;
    if (plan.uiUrl !== undefined) this.uiUrl = plan.uiUrl;
  }

  get pid(): number {
    return this.#process.pid;
  }

  get exited(): Promise<EngineExit> {
    return this.#process.exited;
  }

  kill(signal: NodeJS.Signals): void {
    this.#process.kill(signal);
  }

  stop(): Promise<void> {
    return end(this.#process);
  }

  async restart(): Promise<void> {
    await this.stop();
    this.#process = await boot(this.name, this.#plan);
  }
}

/** Runs the engine until its first health check passes; on any failure it is gone again. */
async function boot(name: EngineName, plan: Launch): Promise<SupervisedProcess> {
  await requireFree(name, plan.ports);
  const running = supervise(plan);
  const abort = new AbortController();
  const timer = setTimeout(
    () => abort.abort(new Error(`did not become healthy in ${READY_TIMEOUT_MS / 1000} s`)),
    READY_TIMEOUT_MS,
  );
  try {
    await Promise.race([plan.ready(abort.signal), running.exited.then(died)]);
    return running;
  } catch (error) {
    abort.abort();
    await end(running);
    throw await startError(name, plan, error);
  } finally {
    clearTimeout(timer);
    abort.abort();
  }
}

/** Asked beforehand, or whoever has the port would answer the engine's health check. */
async function requireFree(name: EngineName, ports: number[]): Promise<void> {
  for (const port of ports) {
    if (!(await isFree(port))) throw new EnginePortError(name, port);
  }
}

function died({ code, signal }: EngineExit): never {
  throw new Error(`ended while it was being started (${signal ?? `exit code ${code}`})`);
}

async function startError(name: EngineName, plan: Launch, cause: unknown): Promise<EngineStartError> {
  const reason = cause instanceof Error ? cause.message : String(cause);
  const log = { file: plan.logFile, tail: await logTail(plan.logFile) };
  return new EngineStartError(name, reason, log, { cause });
}

async function end(running: SupervisedProcess): Promise<void> {
  if (running.hasExited()) return;
  running.kill('SIGTERM');
  // A paused engine would not see it otherwise.
  running.kill('SIGCONT');
  const grace = new AbortController();
  const insist = delay(STOP_GRACE_MS, undefined, { signal: grace.signal }).then(
    () => running.kill('SIGKILL'),
    () => {},
  );
  await running.exited;
  grace.abort();
  await insist;
}
