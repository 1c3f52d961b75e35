/**
 * Starts the four agents of the ticket desk, each as a process of its own, and prints `agents ready` once all of them
 * can be routed to. Supervises nothing: an agent that dies stays dead, so that you can see its traffic move.
 * Usage: node dist/examples/ticket-desk/agents.js [--gateway URL]
 */
import { spawn, type ChildProcess } from 'node:child_process';
import { basename, join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { AgentReachClient } from '../../src/sdk/client'; // in a project of your own: from 'agent-reach/client'
import { gatewayUrl, giveUp } from './support/start';

/** Program of each agent, by the agent's name. */
const PROGRAMS = {
  aftersale_agent: 'aftersale-agent.js',
  refund_agent: 'refund-agent.js',
  product_qa_agent: 'product-qa-agent.js',
  soothing_agent: 'soothing-agent.js',
};

const READY_TIMEOUT_MS = 60_000;
const POLL_MS = 50;
/** Longer than an agent's own patience with running calls (15 s). */
const STOP_TIMEOUT_MS = 18_000;

async function main(): Promise<void> {
  const url = gatewayUrl();
  const children = Object.values(PROGRAMS).map((program) => startAgent(program, url));
  const { signal: stopping, stopped } = stopOnRequest(children);
  try {
    await Promise.race([allReady(url, stopping), stopped, ...children.map((child) => endOf(child, stopping))]);
    if (!stopping.aborted) process.stdout.write('agents ready\n');
  } catch (error) {
    await stopAll(children);
    if (!stopping.aborted) throw error;
  }
  await stopped;
}

/** Out of reach of the terminal's Ctrl-C and bound to our life by the pipe: whatever ends us ends them, once. */
function startAgent(program: string, url: string): ChildProcess {
  const args = ['-r', join(__dirname, 'support', 'end-with-parent.js'), join(__dirname, program), '--gateway', url];
  return spawn(process.execPath, args, { stdio: ['pipe', 'ignore', 'inherit'], detached: true });
}

async function allReady(url: string, stopping: AbortSignal): Promise<void> {
  const reach = new AgentReachClient({ url });
  const deadline = performance.now() + READY_TIMEOUT_MS;
  try {
    for (let waiting = Object.keys(PROGRAMS); waiting.length > 0; await delay(POLL_MS)) {
      if (performance.now() > deadline)
        throw new Error(`not ready after ${READY_TIMEOUT_MS / 1000} s: ${waiting.join(', ')}`);
      const { items } = await reach.agents({ signal: stopping });
      waiting = waiting.filter((name) => !items.some((agent) => agent.name === name && agent.status === 'ready'));
    }
  } finally {
    await reach.close();
  }
}

/** Rejects when an agent ends before all are ready; never resolves. */
async function endOf(child: ChildProcess, stopping: AbortSignal): Promise<void> {
  const code = await exited(child);
  if (stopping.aborted) return new Promise(() => {});
  throw new Error(
    `${basename(child.spawnargs.at(-3) ?? '')} ended with ${code} before all were ready; its message is above`,
  );
}

/** `stopped` resolves when everything has ended after SIGTERM, SIGINT or, if so asked, the end of standard input. */
function stopOnRequest(children: ChildProcess[]): { signal: AbortSignal; stopped: Promise<void> } {
  const stopping = new AbortController();
  const stopped = new Promise<void>((resolve) => {
    stopping.signal.addEventListener('abort', () => void stopAll(children).then(resolve));
  });
  const stop = () => stopping.abort();
  for (const name of ['SIGTERM', 'SIGINT'] as const) process.on(name, stop);
  if (process.env.AGENT_REACH_STOP_WITH_PARENT === '1') process.stdin.on('end', stop).on('error', stop).resume();
  return { signal: stopping.signal, stopped };
}

async function stopAll(children: ChildProcess[]): Promise<void> {
  const insist = setTimeout(() => children.forEach((child) => child.kill('SIGKILL')), STOP_TIMEOUT_MS);
  for (const child of children) child.kill('SIGTERM');
  await Promise.all(children.map(exited));
  clearTimeout(insist);
}

function exited(child: ChildProcess): Promise<number | string | null> {
  const already = child.exitCode ?? child.signalCode;
  if (already !== null) return Promise.resolve(already);
  return new Promise((resolve) => {
    child.once('exit', (code, signal) => resolve(code ?? signal));
    child.once('error', (error) => resolve(error.message));
  });
}

main().then(
  () => process.exit(0),
  (error: Error) => {
    giveUp(error);
    process.exit();
  },
);
