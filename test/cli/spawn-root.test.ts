import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { transformFileSync } from '@swc/core';

/**
 * `spawnRoot` inherits its streams and signals, so it is run in a process of its own: compiled here, with a root that says
 * what happens to it.
 */
const ROOT = `
  const [how, ...rest] = process.argv.slice(2);
  process.stdout.write('args ' + rest.join(' ') + '\\n');
  if (how === 'exit') process.exit(Number(rest[0]));
  let signals = 0;
  for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(name, () => { signals += 1; process.stdout.write('got ' + name + '\\n'); setTimeout(() => process.exit(40 + signals), 150); });
  process.stdin.on('end', () => { process.stdout.write('parent gone\\n'); process.exit(0); }).resume();
  process.stdout.write('up ' + process.pid + ' ' + process.env.AGENT_REACH_STOP_WITH_PARENT + '\\n');
`;

let folder: string;

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'spawn-root-'));
  for (const name of ['spawn-root', 'exit-codes']) {
    const { code } = transformFileSync(join(__dirname, `../../src/cli/${name}.ts`), {
      jsc: { parser: { syntax: 'typescript' }, target: 'es2022' },
      module: { type: 'commonjs' },
    });
    writeFileSync(join(folder, `${name}.js`), code);
  }
  writeFileSync(join(folder, 'root.js'), ROOT);
  writeFileSync(
    join(folder, 'cli.js'),
    `require('./spawn-root').spawnRoot(__dirname + '/root.js', process.argv.slice(2)).then((code) => process.exit(code));`,
  );
});

afterAll(() => rmSync(folder, { recursive: true }));

/** Starts the stand-in CLI and collects what it and its root print. */
function start(...args: string[]) {
  const child = spawn(process.execPath, [join(folder, 'cli.js'), ...args], { stdio: ['ignore', 'pipe', 'inherit'] });
  let out = '';
  child.stdout.on('data', (chunk: Buffer) => (out += chunk.toString()));
  const said = async (pattern: RegExp) => {
    while (!pattern.test(out)) await once(child.stdout, 'data');
  };
  return { child, said, output: () => out };
}

const ended = async (child: ChildProcess) => (await once(child, 'close')) as [number | null, string | null];

it.each([0, 1, 7])('passes on arguments and exit code %i', async (code) => {
  const { child, output } = start('exit', String(code));
  expect((await ended(child))[0]).toBe(code);
  expect(output()).toBe(`args ${code}\n`);
});

it.each(['SIGINT', 'SIGTERM', 'SIGHUP'] as const)('passes %s on exactly once and waits for the end', async (name) => {
  const { child, said, output } = start('stay', '--port', '0');
  await said(/up \d+ 1/);
  child.kill(name);
  expect((await ended(child))[0]).toBe(41);
  expect(output().match(new RegExp(`got ${name}`, 'g'))).toHaveLength(1);
});

it('ends with 128 + n when signal n killed the root', async () => {
  const { child, said, output } = start('stay');
  await said(/up \d+/);
  process.kill(Number(/up (\d+)/.exec(output())?.[1]), 'SIGKILL');
  expect((await ended(child))[0]).toBe(137);
});

it('takes the root along when it is killed itself', async () => {
  const { child, said } = start('stay');
  await said(/up \d+/);
  child.kill('SIGKILL');
  await said(/parent gone/);
});
