/** What every composition root does: read its arguments, run until a signal, stop in order. */
import { existsSync } from 'node:fs';
import { constants } from 'node:os';
import { parseArgs } from 'node:util';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { ReachError } from './protocol/reach-error';
import { adviceOn, inactiveSettings, loadConfig, readConfigFile, type Config } from './config';
import { stopEach, type Stop } from './stopping';

/**
 * How much a heap may grow before it is collected in full. Left alone V8 lets garbage pile up to several times of what
 * is alive where memory is plenty; thousands of waiting reaches would take half a gigabyte that nobody uses.
 */
const HEAP_GROWTH_PERCENT = 40;

/** The file read when `--config` is not given. */
const DEFAULT_CONFIG_FILE = 'agent-reach.yaml';

/** What a flag means: a setting of the configuration as `section.key`, or a plain switch. */
export type FlagMeaning = 'flag' | `${string}.${string}`;

/** Reads `--config` and the root's own flags into the configuration. Exits with 2 on unknown flags. */
export function readRootArguments(meaning: Record<string, FlagMeaning>): { config: Config; flags: Set<string> } {
  const options = Object.fromEntries(
    Object.entries(meaning).map(([name, kind]) => [
      name,
      { type: kind === 'flag' ? ('boolean' as const) : ('string' as const) },
    ]),
  );
  const parsed = parseArgs({ options: { ...options, config: { type: 'string' } }, strict: true });
  const values: Record<string, unknown> = parsed.values;
  const file = typeof values.config === 'string' ? values.config : DEFAULT_CONFIG_FILE;
  const present = values.config !== undefined || existsSync(file);
  const overrides: Record<string, Record<string, unknown>> = {};
  for (const [name, value] of Object.entries(values)) {
    const [section, key] = (meaning[name] ?? '').split('.');
    if (!section || !key || value === undefined) continue;
    overrides[section] = { ...overrides[section], [key]: /^\d+$/.test(String(value)) ? Number(value) : value };
  }
  const text = present ? readConfigFile(file) : '';
  const config = loadConfig({ text, fileName: file, env: process.env, overrides });
  for (const setting of inactiveSettings({ text, fileName: file })) {
    process.stderr.write(`${file}: ${setting} has no effect in this release\n`);
  }
  for (const { setting, message } of adviceOn(config)) {
    process.stderr.write(`${present ? file : 'The configuration'}: ${setting} ${message}\n`);
  }
  return {
    config,
    flags: new Set(Object.keys(values).filter((name) => meaning[name] === 'flag' && values[name] === true)),
  };
}

/** Registers what must be stopped when the root ends; called in reverse order, also when it ends while it is starting. */
export type AtExit = (stop: Stop) => void;

/** Ends a root that runs, because it cannot do its work any more: it stops in order, and ends with exit code 1, 2 or 3. */
export type GiveUp = (error: unknown) => void;

/** A terminal that is closed sends the last of them: what was started must not outlive it. */
const ENDING = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;

/**
 * Runs a root until SIGINT, SIGTERM or SIGHUP, then stops in order what it has started; a second signal ends it at once.
 * Exit codes: 0 after a signal (128 + its number while it was still starting); when it could not start 3 for an engine
 * that cannot be reached, 2 for arguments or a configuration that are not valid, else 1.
 */
export function runRoot(name: string, start: (atExit: AtExit, giveUp: GiveUp) => Promise<void>): void {
  setFlagsFromString(`--heap-growing-percent=${HEAP_GROWTH_PERCENT}`);
  const stops: Stop[] = [];
  let started = false;
  let stopping = false;
  const tell = (error: unknown) => void process.stderr.write(`${name}: ${wordsOf(error)}\n`);
  const end = (code: number, error?: unknown) => {
    stopping = true;
    if (error !== undefined) tell(error);
    stopEach(stops.toReversed()).then(
      () => process.exit(code),
      (failure: unknown) => {
        // What made it end has been told; what fails because of that is only noise.
        if (error === undefined) tell(failure);
        process.exit(code || exitCode(failure));
      },
    );
  };
  const onSignal = (signal: NodeJS.Signals) => {
    const code = 128 + constants.signals[signal];
    if (stopping) process.exit(code);
    end(started ? 0 : code);
  };
  for (const signal of ENDING) process.on(signal, onSignal);
  stopWithParent(() => onSignal('SIGTERM'));
  // What was being started fails when it is stopped under way; the signal has the word then.
  const giveUp = (error: unknown) => (stopping ? undefined : end(exitCode(error), error));
  start((stop) => stops.push(stop), giveUp).then(() => {
    started = true;
    settleHeap();
  }, giveUp);
}

/**
 * Collects the garbage of the start, once. V8 lets a heap grow in proportion to what it last found alive; where that was in the
 * middle of a start, most of it is garbage by now, and some 15 MB more of it would pile up before anything is collected.
 */
function settleHeap(): void {
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc') as () => void;
  setFlagsFromString('--no-expose-gc');
  collect();
}

/** 3: an engine cannot be reached; 2: the arguments or the configuration are not valid; else 1. */
function exitCode(error: unknown): number {
  if (!(error instanceof ReachError)) return isOfArguments(error) ? 2 : 1;
  if (error.code === 'engine_unavailable') return 3;
  return error.code === 'internal' ? 1 : 2;
}

/** What `parseArgs` throws. */
function isOfArguments(error: unknown): boolean {
  return error instanceof Error && String((error as NodeJS.ErrnoException).code).startsWith('ERR_PARSE_ARGS_');
}

/** An operator whose engine does not answer needs to know why: refused, not resolved, or not trusted. */
function wordsOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const { cause } = error;
  const isOfEngine = error instanceof ReachError && error.code === 'engine_unavailable';
  return isOfEngine && cause instanceof Error && cause.message ? `${error.message} (${cause.message})` : error.message;
}

/** Set by a parent that holds our standard input open as long as it lives. */
export const STOP_WITH_PARENT = 'AGENT_REACH_STOP_WITH_PARENT';

/** A parent that was killed cannot signal its children; the end of the pipe from it can. */
function stopWithParent(stop: () => void): void {
  if (process.env[STOP_WITH_PARENT] !== '1') return;
  process.stdin.on('end', stop).on('error', stop).resume();
  process.stdin.unref();
}
