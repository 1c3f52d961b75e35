import { once } from 'node:events';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { createServer, type AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { inspect } from 'node:util';

import { launch, type Launch } from './launch';
import { isListening } from './ports';
import { supervise } from './supervise';

let dir: string;
let logFile: string;

beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), 'engine-supervise-'));
  logFile = join(dir, 'logs', 'it.log');
});
afterEach(() => rm(dir, { recursive: true, force: true }));

const shell = (text: string) => ({ command: '/bin/sh', args: ['-c', text], env: process.env, logFile });

describe('supervise', () => {
  it("reports the program's own exit code and keeps both its outputs in the log", async () => {
    const running = supervise(shell('echo out; echo err >&2; exit 7'));
    expect(await running.exited).toEqual({ code: 7, signal: null });
    expect(await readFile(logFile, 'utf8')).toBe('out\nerr\n');
    expect(running.hasExited()).toBe(true);
  });

  it("runs the program under the very pid it gives, in a session of the program's own", async () => {
    const running = supervise(shell('echo $$; ps -o pgid= -p $$'));
    await running.exited;
    const [pid, group] = (await readFile(logFile, 'utf8')).split('\n').map(Number);
    expect([pid, group]).toEqual([running.pid, running.pid]);
  });

  it('passes signals to the program itself', async () => {
    const running = supervise(shell('exec sleep 60'));
    running.kill('SIGKILL');
    expect(await running.exited).toEqual({ code: null, signal: 'SIGKILL' });
  });

  it('takes what the program left in its group down with it', async () => {
    const up = 'function () { console.log("up " + this.address().port) }';
    const server = `require("net").createServer().listen(0, "127.0.0.1", ${up})`;
    const running = supervise(
      shell(`"${process.execPath}" -e '${server}' & while ! grep -q up ${logFile}; do sleep 0.05; done`),
    );
    expect(await running.exited).toEqual({ code: 0, signal: null });
    const port = Number(/up (\d+)/.exec(await readFile(logFile, 'utf8'))![1]);
    while (await isListening(port));
  });

  it('keeps the log of the run before', async () => {
    await supervise(shell('echo first')).exited;
    await supervise(shell('echo second')).exited;
    expect(await readFile(`${logFile}.previous`, 'utf8')).toBe('first\n');
    expect(await readFile(logFile, 'utf8')).toBe('second\n');
  });

  it('reports a program that does not exist', async () => {
    const running = supervise({ ...shell(''), command: join(dir, 'missing') });
    expect((await running.exited).code).toBe(127);
    expect(await readFile(logFile, 'utf8')).toContain('missing');
  });
});

describe('launch', () => {
  const never = () => new Promise<void>(() => {});
  const plan = (text: string, ready: Launch['ready'] = never): Launch => ({
    ...shell(text),
    address: '127.0.0.1:1',
    ports: [],
    ready,
  });

  it('shows the end of the log of an engine that dies at start', async () => {
    const failing = launch('etcd', async () => plan('seq 1 40; echo bad flag; exit 2'), false);
    await expect(failing).rejects.toMatchObject({
      name: 'EngineStartError',
      message: expect.stringMatching(/exit code 2\)\n(.*\n)*\s+\| 40\n\s+\| bad flag$/),
      logTail: expect.not.stringContaining('\n10\n'),
      hint: expect.stringContaining(logFile),
    });
  });

  it('ends an engine whose health check fails', async () => {
    const failing = launch(
      'etcd',
      async () => plan(`echo $$; exec sleep 60`, () => Promise.reject(new Error('is ill'))),
      false,
    );
    await expect(failing).rejects.toThrow('etcd is ill');
    const pid = Number(await readFile(logFile, 'utf8'));
    if (pid) expect(() => process.kill(pid, 0)).toThrow('ESRCH');
  });

  it('plans anew when a port it chose was taken meanwhile, a few times at most', async () => {
    let attempts = 0;
    const unlucky = async () => plan(`echo listen: address already in use; exit ${++attempts}`);
    await expect(launch('etcd', unlucky, true)).rejects.toThrow('exit code 3');
    await expect(launch('etcd', unlucky, false)).rejects.toThrow('exit code 4');
  });

  it('does not take another program for the engine when its port is in use', async () => {
    const server = createServer().listen(0, '127.0.0.1');
    await once(server, 'listening');
    const { port } = server.address() as AddressInfo;
    const healthy = { ...plan('exec sleep 60', () => Promise.resolve()), ports: [port] };
    await expect(launch('etcd', async () => healthy, false)).rejects.toThrow(
      `etcd cannot start: port ${port} is in use`,
    );
    server.close();
  });

  it('shows no environment when it is printed', async () => {
    const engine = await launch('etcd', async () => plan('exec sleep 60', () => Promise.resolve()), false);
    expect(inspect(engine, { depth: 9 })).not.toContain('PATH');
    await engine.stop();
  });

  it('stops, restarts on the same plan, and lets stop be called again', async () => {
    const engine = await launch('etcd', async () => plan('exec sleep 60', () => Promise.resolve()), false);
    const first = engine.pid;
    engine.kill('SIGKILL');
    await engine.exited;
    await engine.restart();
    expect(engine.pid).not.toBe(first);
    await engine.stop();
    await engine.stop();
    expect(await engine.exited).toEqual({ code: null, signal: 'SIGTERM' });
  });

  it('stops an engine that is paused', async () => {
    const engine = await launch('etcd', async () => plan('exec sleep 60', () => Promise.resolve()), false);
    engine.kill('SIGSTOP');
    await engine.stop();
    expect((await engine.exited).signal).toBe('SIGTERM');
  });
});
