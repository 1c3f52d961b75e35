/** The programs Agent-Reach can run by itself, so that one machine needs nothing installed beforehand. */
export type EngineName = 'temporal' | 'temporal-test-server' | 'etcd' | 'embeddings';

/** Where a program was found: named by the caller, on PATH, in the engine cache, or put into the cache just now. */
export type EngineSource = 'configured' | 'path' | 'cache' | 'downloaded';

/** A program that can be started. */
export interface LocatedEngine {
  /** Absolute path of the executable. */
  path: string;
  source: EngineSource;
  /** Variables the program needs on top of the caller's environment. */
  env?: Record<string, string>;
}

/** How an engine's process ended. */
export interface EngineExit {
  code: number | null;
  signal: NodeJS.Signals | null;
}

/** An engine that answered its first health check. `pid` and `exited` follow a restart. */
export interface RunningEngine {
  readonly name: EngineName;
  /** `host:port`; for embeddings the base URL of an OpenAI-compatible API, `http://127.0.0.1:PORT/v1`. */
  readonly address: string;
  /** Address of the engine's own web UI, where it has one. */
  readonly uiUrl?: string;
  readonly pid: number;
  /** Settles when the current process has ended, for whatever reason. Never rejects. */
  readonly exited: Promise<EngineExit>;
  /** Asks the engine to end (SIGTERM), insists after a grace period (SIGKILL). Safe to call again. */
  stop(): Promise<void>;
  /** Sends a signal to the engine itself: crash (SIGKILL) and pause (SIGSTOP, SIGCONT) tests. */
  kill(signal: NodeJS.Signals): void;
  /** Stops the engine if it still runs and starts it again on the same ports and data. */
  restart?(): Promise<void>;
}

/** One step of an installation. Byte counts are of the packages to download. */
export interface EngineProgress {
  engine: EngineName;
  /** For people, such as `temporal 1.9.1`. */
  label: string;
  phase: 'download' | 'unpack' | 'ready' | 'failed';
  receivedBytes: number;
  totalBytes: number;
}

/** Told about each step of an installation; never called when the engine is already there. */
export type OnEngineProgress = (progress: EngineProgress) => void;

/** How to look for an engine. */
export interface LocateOptions {
  /** An executable to use instead of searching. It must exist. */
  path?: string;
  /** Environment that PATH and the cache folder are read from. Default: this process's. */
  env?: NodeJS.ProcessEnv;
}

/** How to look for an engine, and to install it where it is missing. */
export interface EnsureOptions extends LocateOptions {
  onProgress?: OnEngineProgress;
}
