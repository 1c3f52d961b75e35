import type { EngineName } from './types';

/** What every failure of an embedded engine has in common: which engine, and what to do next. */
export class EngineError extends Error {
  override readonly name: string = 'EngineError';

  constructor(
    readonly engine: EngineName,
    message: string,
    /** One or more sentences for the person at the terminal: the next step. */
    readonly hint: string,
    options?: ErrorOptions,
  ) {
    super(message, options);
  }
}

/** The engine is neither configured, nor on PATH, nor in the cache; or the configured program is not there. */
export class EngineNotFoundError extends EngineError {
  override readonly name = 'EngineNotFoundError';
}

/** There is no build of the engine for this operating system and processor. */
export class EngineUnsupportedError extends EngineError {
  override readonly name = 'EngineUnsupportedError';
}

/** The pinned package could not be installed: no Python, no network, or a file whose SHA-256 is not the pinned one. */
export class EngineInstallError extends EngineError {
  override readonly name = 'EngineInstallError';
}

/** What came is not what is pinned: nothing else is tried in its place. */
export class EngineMismatchError extends EngineInstallError {}

/** Another program listens on a port that the engine was told to use. */
export class EnginePortError extends EngineError {
  override readonly name = 'EnginePortError';

  constructor(
    engine: EngineName,
    readonly port: number,
  ) {
    super(
      engine,
      `${engine} cannot start: port ${port} is in use`,
      'Choose another port, or stop the program that uses it.',
    );
  }
}

/** The engine ended, or did not become healthy in time, while it was being started. */
export class EngineStartError extends EngineError {
  override readonly name = 'EngineStartError';

  /** Where the engine's whole log is. */
  readonly logFile: string;
  /** Last lines that the engine wrote, also part of the message. */
  readonly logTail: string;

  constructor(engine: EngineName, reason: string, log: { file: string; tail: string }, options?: ErrorOptions) {
    const shown = log.tail ? indent(log.tail) : '  (its log is empty)';
    super(engine, `${engine} ${reason}\n${shown}`, `Its whole log is ${log.file}.`, options);
    this.logFile = log.file;
    this.logTail = log.tail;
  }
}

function indent(text: string): string {
  return text.replace(/^/gm, '  | ');
}
