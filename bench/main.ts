/**
 * What a reach costs, beside a plain Temporal workflow that does the same: `npm run bench`.
 * Usage: node main.js [--quick] [--json] [--gateway-node-arg=ARG …]
 * Exit codes: 0 measured (targets met or not), 1 something failed or an answer was wrong, 2 usage, 130 interrupted.
 */
import { mkdir, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import type { Figures } from './figures';
import { planOf } from './plan';
import { progressOn } from './progress';
import { routingSpeed, run, stepsOf } from './run';
import { openStage } from './stage';
import { tablesOf } from './tables';
import { judge } from './targets';

/** In the source tree, not in `dist`: the figures are kept under version control. */
const RESULTS = resolve(__dirname, '../../bench/results');

interface Options {
  quick: boolean;
  json: boolean;
  /** Passed to the gateway's Node, such as --cpu-prof, to see where its time goes. */
  gatewayNodeArgs: string[];
}

function readOptions(): Options {
  try {
    const { values } = parseArgs({
      options: {
        quick: { type: 'boolean', default: false },
        json: { type: 'boolean', default: false },
        'gateway-node-arg': { type: 'string', multiple: true, default: [] },
      },
    });
    return { quick: values.quick, json: values.json, gatewayNodeArgs: values['gateway-node-arg'] };
  } catch (error) {
    process.stderr.write(`bench: ${(error as Error).message}\nusage: npm run bench -- [--quick] [--json]\n`);
    process.exit(2);
  }
}

async function measure({ quick, gatewayNodeArgs }: Options, signal: AbortSignal): Promise<Figures> {
  const plan = planOf({ quick });
  const progress = progressOn(process.stderr, stepsOf(plan));
  try {
    progress.phase('routing among 1,000 agents');
    const routing = await routingSpeed(signal);
    progress.phase('starting engines, agent, worker and gateway');
    const stage = await openStage({ gatewayNodeArgs });
    try {
      signal.throwIfAborted();
      return await run({ stage, plan, progress, signal }, routing);
    } finally {
      progress.phase('stopping');
      await stage.close();
    }
  } finally {
    progress.stop();
  }
}

async function report(figures: Figures, { json }: Options): Promise<void> {
  const targets = judge(figures);
  const document = `${JSON.stringify({ ...figures, targets }, null, 2)}\n`;
  await mkdir(RESULTS, { recursive: true });
  await writeFile(join(RESULTS, 'latest.json'), document);
  process.stdout.write(json ? document : `\n${tablesOf(figures, targets)}\nWritten to bench/results/latest.json\n`);
}

/** Aborts at the first signal, so that everything is stopped in order; the second one ends us at once. */
function interruption(): AbortSignal {
  const controller = new AbortController();
  for (const signal of ['SIGINT', 'SIGTERM'] as const) {
    process.on(signal, () => {
      if (controller.signal.aborted) process.exit(130);
      controller.abort(new Error(`interrupted by ${signal}`));
    });
  }
  return controller.signal;
}

async function main(): Promise<void> {
  const options = readOptions();
  const signal = interruption();
  try {
    await report(await measure(options, signal), options);
    process.exitCode = 0;
  } catch (error) {
    const interrupted = signal.aborted;
    process.stderr.write(interrupted ? 'bench: interrupted\n' : `bench: ${(error as Error).stack}\n`);
    process.exitCode = interrupted ? 130 : 1;
  }
}

void main();
