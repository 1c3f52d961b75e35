import { once } from 'node:events';
import { closeSync, openSync } from 'node:fs';
import { text } from 'node:stream/consumers';
import { ScriptedGateway, type Reply } from '../sdk/scripted-gateway';
import { startCli } from './cli-process';

let gateway: ScriptedGateway;
let answer: () => Promise<Reply>;

beforeAll(async () => void (gateway = await ScriptedGateway.start(() => answer())));
afterAll(() => gateway.close());

/** More than a pipe holds, so that the reader's leaving is noticed. */
const LONG = { items: Array.from({ length: 3_000 }, (_, n) => ({ name: `agent-${n}`, about: 'x'.repeat(100) })) };
const env = () => ({ AGENT_REACH_URL: gateway.url });

it.each([
  { args: ['agents', '--json'], reply: { status: 200, body: LONG }, code: 0 },
  { args: ['get', 'r-1', '--json'], reply: { status: 200, body: { ...LONG, status: 'expired' } }, code: 1 },
])('a reader that leaves early is told nothing and changes no exit code ($code)', async ({ args, reply, code }) => {
  const child = startCli(args, { stdio: ['ignore', 'pipe', 'pipe'], env: env() });
  answer = async () => {
    child.stdout?.destroy(); // before anything is printed: the first write meets a closed pipe
    await once(child.stdout!, 'close');
    return reply;
  };
  const err = text(child.stderr!);
  expect(await once(child, 'exit')).toEqual([code, null]);
  expect(await err).toBe('');
});

it('what would go on for ever ends when its reader has left', async () => {
  const child = startCli(['breakers', '--watch', '--json'], { stdio: ['ignore', 'pipe', 'pipe'], env: env() });
  answer = async () => {
    child.stdout?.destroy();
    return { status: 200, body: { items: [] } };
  };
  const err = text(child.stderr!);
  expect(await once(child, 'exit')).toEqual([0, null]);
  expect(await err).toBe('');
});

const onLinux = process.platform === 'linux' ? it : it.skip; // /dev/full is Linux's

onLinux('a full disk ends with 1 and one line', async () => {
  answer = () => Promise.resolve({ status: 200, body: LONG });
  const full = openSync('/dev/full', 'w');
  const child = startCli(['agents', '--json'], { stdio: ['ignore', full, 'pipe'], env: env() });
  closeSync(full);
  const err = text(child.stderr!);
  expect(await once(child, 'exit')).toEqual([1, null]);
  expect(await err).toMatch(/^agent-reach: stdout could not be written: ENOSPC[^\n]*\n$/);
});

onLinux('what stderr does not take changes no exit code', async () => {
  const full = openSync('/dev/full', 'w');
  const child = startCli(['agents', '--url', 'nonsense'], { stdio: ['ignore', 'pipe', full], env: {} });
  closeSync(full);
  expect(await once(child, 'exit')).toEqual([2, null]);
});
