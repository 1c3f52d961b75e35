import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { resolve } from 'node:path';
import { createInterface, type Interface } from 'node:readline';

const RUN_CHILD = resolve(__dirname, '../../scripts/lib/run-child.mjs');

/** A runner, as scripts/run.mjs is one, around a program that is given as text. */
function runner(program: string): { process: ChildProcess; lines: Interface } {
  const code = `import { runChild } from ${JSON.stringify(RUN_CHILD)};
    process.exitCode = await runChild(['-e', ${JSON.stringify(program)}], { cwd: '.' });`;
  const child = spawn(process.execPath, ['--input-type=module', '-e', code], {
    detached: true,
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  return { process: child, lines: createInterface({ input: child.stdout }) };
}

const line = async (lines: Interface) => String((await once(lines, 'line'))[0]);
const exitCode = async (child: ChildProcess) => Number((await once(child, 'exit'))[0]);
const interruptGroup = (child: ChildProcess) => process.kill(-(child.pid ?? 0), 'SIGINT');

const PATIENT = `
  let count = 0;
  process.on('SIGINT', () => { console.log('interrupt ' + ++count); setTimeout(() => process.exit(3), 100); });
  setInterval(() => {}, 1000); console.log('ready')`;
const STUBBORN = `process.on('SIGINT', () => console.log('no')); setInterval(() => {}, 1000); console.log('ready')`;

it.each([
  ['process.exit(5)', 5],
  ['process.kill(process.pid, "SIGTERM"); setInterval(() => {}, 1000)', 143],
])('ends as the program ends: %s', async (program, expected) => {
  expect(await exitCode(runner(program).process)).toBe(expected);
});

it('passes a Ctrl-C on exactly once and waits for the program', async () => {
  const { process: child, lines } = runner(PATIENT);
  const seen: string[] = [];
  lines.on('line', (text) => seen.push(text));
  await line(lines);
  interruptGroup(child);
  expect(await exitCode(child)).toBe(3);
  expect(seen).toEqual(['ready', 'interrupt 1']);
});

it('kills a stubborn program on the second Ctrl-C', async () => {
  const { process: child, lines } = runner(STUBBORN);
  await line(lines);
  interruptGroup(child);
  expect(await line(lines)).toBe('no');
  interruptGroup(child);
  expect(await exitCode(child)).toBe(137);
});

it('leaves nothing behind that a crashed program had started', async () => {
  const crash = `const c = require('node:child_process').spawn('sleep', ['60']);
    c.once('spawn', () => { console.log(c.pid); process.exitCode = 9; process.nextTick(() => process.exit()); });`;
  const { process: child, lines } = runner(crash);
  const [pid, code] = await Promise.all([line(lines), exitCode(child)]);
  expect(code).toBe(9);
  expect(() => process.kill(Number(pid), 0)).toThrow('ESRCH');
});
