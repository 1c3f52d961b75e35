import { spawn, type ChildProcess } from 'node:child_process';

/** How much of what a child wrote to standard error is kept for its obituary, characters. */
const KEPT_CHARACTERS = 4_000;
const STOP_GRACE_MS = 20_000;

/** A Node process of the benchmark. */
export interface Child {
  pid: number;
  /** What it said after `ready `. */
  address: string;
  stop(): Promise<void>;
}

/** Makes children end when standard input does: whatever happens to us, they do not outlive us. */
const STOP_WITH_PARENT = { AGENT_REACH_STOP_WITH_PARENT: '1' };

/**
 * Starts `script` and waits until it prints `ready ADDRESS` on a line of its own.
 * @throws Error with the last of its output when it ends before that
 */
export async function startChild(
  name: string,
  script: string,
  args: string[],
  nodeArgs: string[] = [],
): Promise<Child> {
  const child = spawn(process.execPath, [...nodeArgs, script, ...args], {
    // A process group of its own: a terminal's Ctrl-C reaches us only, and we stop our children in order.
    detached: true,
    stdio: ['pipe', 'pipe', 'pipe'],
    env: { ...process.env, ...STOP_WITH_PARENT },
  });
  child.stdin?.on('error', () => {});
  const complaints = tail(child);
  const address = await readyAddress(name, child, complaints);
  return { pid: child.pid ?? -1, address, stop: () => end(child) };
}

function readyAddress(name: string, child: ChildProcess, complaints: () => string): Promise<string> {
  return new Promise((resolve, reject) => {
    let seen = '';
    child.stdout?.on('data', (chunk: Buffer) => {
      if (seen.length > KEPT_CHARACTERS) return;
      seen += chunk.toString('utf8');
      const address = /^ready (\S+)$/m.exec(seen)?.[1];
      if (address) resolve(address);
    });
    child.once('error', (cause) => reject(new Error(`${name} could not be started`, { cause })));
    child.once('close', (code, signal) => {
      reject(new Error(`${name} ended (${signal ?? `exit code ${code}`}) before it was ready:\n${complaints()}`));
    });
  });
}

function tail(child: ChildProcess): () => string {
  let text = '';
  child.stderr?.on('data', (chunk: Buffer) => {
    text = (text + chunk.toString('utf8')).slice(-KEPT_CHARACTERS);
  });
  return () => text.trim();
}

async function end(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const exited = new Promise<void>((resolve) => child.once('exit', () => resolve()));
  child.kill('SIGTERM');
  const insist = setTimeout(() => child.kill('SIGKILL'), STOP_GRACE_MS);
  await exited;
  clearTimeout(insist);
}

/** For the children's side: runs `stop`, then ends the process, on SIGTERM or when the parent is gone. */
export function stopWithParent(stop: () => Promise<void>): void {
  let stopping = false;
  const onEnd = () => {
    if (stopping) return;
    stopping = true;
    stop().then(
      () => process.exit(0),
      () => process.exit(1),
    );
  };
  process.on('SIGTERM', onEnd);
  process.stdin.on('end', onEnd).on('error', onEnd).resume();
}
