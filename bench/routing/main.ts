/**
 * How well requests find the right ability, beside what anybody would try first: `npm run bench:routing`.
 * Exit codes: 0 measured, 1 something failed, 2 usage or a file of another shape. Options: see USAGE in options.ts.
 */
import { existsSync } from 'node:fs';
import { mkdir, writeFile } from 'node:fs/promises';
import { basename, dirname, join, resolve } from 'node:path';
import { thisMachine } from '../machine';
import { progressOn } from '../progress';
import { runRoutingSpeed } from '../routing-speed';
import { builtInSets } from './built-in-sets';
import { openEmbedding } from './embedding';
import { evaluate, stepsOf, type SetResult } from './evaluate';
import { drawSet, readIntentFile, SetError, type LabelledSet } from './labelled-set';
import { readOptions, USAGE, UsageError, type Options } from './options';
import { reportOf } from './report';
import { speedTable } from './speed-table';

/** Data and results are in the source tree, whether we run from there or from `dist`. */
const ROOT = dirname(findPackageJson(__dirname));
const RESULTS = join('bench', 'results', 'routing.json');

function findPackageJson(folder: string): string {
  const file = join(folder, 'package.json');
  return existsSync(file) ? file : findPackageJson(dirname(folder));
}

async function setsOf({ set, perLabel, sample, seed }: Options): Promise<LabelledSet[]> {
  if (set !== undefined) return [drawSet(await readIntentFile(set), { name: basename(set), perLabel, sample, seed })];
  return builtInSets(ROOT, seed);
}

async function evaluateAll(options: Options): Promise<{ model: string; results: SetResult[] }> {
  const sets = await setsOf(options);
  const { embedder, model, close } = await openEmbedding(options);
  const progress = progressOn(
    process.stderr,
    sets.reduce((sum, set) => sum + stepsOf(set, { embedder }), 0),
  );
  try {
    const results: SetResult[] = [];
    for (const set of sets) results.push(await evaluate(set, { embedder, progress }));
    return { model, results };
  } finally {
    progress.stop();
    await close();
  }
}

async function quality(options: Options): Promise<void> {
  const { model, results } = await evaluateAll(options);
  const { seed, perLabel, json, out } = options;
  const machine = thisMachine();
  const drawn = { model, seed, per_label: options.set === undefined ? null : perLabel, at: new Date().toISOString() };
  const document = { ...results[0]!, ...drawn, machine, ...(results.length > 1 && { sets: results }) };
  const file = out === undefined ? join(ROOT, RESULTS) : resolve(out);
  await mkdir(dirname(file), { recursive: true });
  await writeFile(file, `${JSON.stringify(document, null, 2)}\n`);
  const about = `${machine.cpu}, Node ${machine.node}; embeddings: ${model}; seed ${seed}`;
  process.stdout.write(
    json ? `${JSON.stringify(document, null, 2)}\n` : `\n${reportOf(results, about)}\nWritten to ${out ?? RESULTS}\n`,
  );
}

async function speed({ json }: Options): Promise<void> {
  const figures = await runRoutingSpeed();
  process.stdout.write(json ? `${JSON.stringify(figures)}\n` : `${speedTable(figures)}\n`);
}

async function main(): Promise<void> {
  const options = readOptions(process.argv.slice(2));
  await (options.speed ? speed(options) : quality(options));
}

main().then(
  () => process.exit(0),
  (error: unknown) => {
    const known = error instanceof SetError || error instanceof UsageError;
    const told = known ? error.message : error instanceof Error ? error.stack : String(error);
    process.stderr.write(`bench:routing: ${told}\n${error instanceof UsageError ? `${USAGE}\n` : ''}`);
    process.exit(known ? 2 : 1);
  },
);
