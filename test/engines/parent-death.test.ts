import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as delay } from 'node:timers/promises';

import { embeddingsSupported } from '../../src/engines';
import { isListening } from '../../src/engines/ports';
import { useTempDir } from './support/temp-dir';
import { transpiledEngines } from './support/transpiled-engines';

/** Starts the engines, prints their ports as a line of JSON, ignores Ctrl-C and lives on. */
const PARENT = `
  const engines = require(process.argv[1]);
  const dataDir = process.argv[2];
  const starts = { etcd: () => engines.startEtcd({ dataDir }), temporal: () => engines.startTemporal({ dataDir }),
                   embeddings: () => engines.startEmbeddings() };
  process.on('SIGINT', () => console.log('interrupted'));
  Promise.all(process.argv.slice(3).map((name) => starts[name]())).then((all) =>
    console.log(JSON.stringify(all.map(({ address }) => Number(/:(\\d+)/.exec(address.replace('http:', ''))[1])))));
`;

const dataDir = useTempDir();
let compiled: string;
let parent: ChildProcess | undefined;

beforeAll(async () => void (compiled = await transpiledEngines()));
afterAll(() => rm(compiled, { recursive: true, force: true }));
afterEach(() => parent?.kill('SIGKILL'));

async function parentOf(...names: string[]): Promise<{ ports: number[]; nextLine: () => Promise<string> }> {
  const args = ['-e', PARENT, join(compiled, 'engines'), dataDir(), ...names];
  parent = spawn(process.execPath, args, { detached: true, stdio: ['ignore', 'pipe', 'inherit'] });
  const lines = createInterface({ input: parent.stdout ?? process.stdin });
  const nextLine = async (): Promise<string> => String((await once(lines, 'line'))[0]);
  return { ports: JSON.parse(await nextLine()) as number[], nextLine };
}

const listening = (ports: number[]) => Promise.all(ports.map(isListening));

async function allClosed(ports: number[]): Promise<void> {
  while ((await listening(ports)).includes(true)) await delay(20);
}

it('no engine outlives a parent that was killed with SIGKILL', async () => {
  const { ports } = await parentOf('etcd', 'temporal', ...(embeddingsSupported().supported ? ['embeddings'] : []));
  expect(await listening(ports)).not.toContain(false);
  parent?.kill('SIGKILL');
  await allClosed(ports);
});

it("a Ctrl-C for the parent's process group does not reach the engines", async () => {
  const { ports, nextLine } = await parentOf('etcd');
  process.kill(-(parent?.pid ?? 0), 'SIGINT');
  expect(await nextLine()).toBe('interrupted');
  expect(await listening(ports)).toEqual([true]);
  parent?.kill('SIGTERM');
  await allClosed(ports);
});
