import { spawn } from 'node:child_process';
import { constants } from 'node:os';
import { setTimeout as delay } from 'node:timers/promises';

const STRAGGLER_GRACE_MS = 2_000;

/**
 * Runs a Node program with our standard streams and resolves with its exit code, 128 + n if signal n ended it.
 *
 * The program gets a session of its own, so that a terminal's Ctrl-C reaches only us. We pass it on, once: whether a
 * signal came from the terminal, from npm or from `kill`, the program sees exactly one and shuts down in order. A second
 * Ctrl-C means now: it kills the program and everything it has started.
 */
export async function runChild(args, { cwd, env = {} }) {
  const options = { cwd, env: { ...process.env, ...env }, stdio: 'inherit', detached: true };
  const child = spawn(process.execPath, args, options);
  const ended = new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('exit', (code, signal) => resolve(code ?? 128 + constants.signals[signal]));
  });
  const release = passSignalsTo(child.pid);
  try {
    return await ended;
  } finally {
    await endStragglers(child.pid);
    release();
  }
}

function passSignalsTo(pid) {
  let passed = false;
  const onSignal = (signal) => {
    if (passed) return signalGroup(pid, 'SIGKILL');
    passed = true;
    // A closed terminal is a request to stop as well, which programs rarely handle under that name.
    return signalProcess(pid, signal === 'SIGHUP' ? 'SIGTERM' : signal);
  };
  const signals = ['SIGINT', 'SIGTERM', 'SIGHUP'];
  for (const signal of signals) process.on(signal, onSignal);
  return () => signals.forEach((signal) => process.off(signal, onSignal));
}

/** A program that crashed may have left children in its process group. */
async function endStragglers(pid) {
  signalGroup(pid, 'SIGTERM');
  const deadline = performance.now() + STRAGGLER_GRACE_MS;
  while (signalGroup(pid, 0)) {
    if (performance.now() > deadline) return signalGroup(pid, 'SIGKILL');
    await delay(50);
  }
}

function signalGroup(pid, signal) {
  return signalProcess(-pid, signal);
}

/** Returns whether there was something to signal. */
function signalProcess(pid, signal) {
  try {
    return process.kill(pid, signal);
  } catch {
    return false;
  }
}
