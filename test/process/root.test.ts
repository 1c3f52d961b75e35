/** How roots end: in order, with everything stopped, and with an exit code that says why. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';

const ALL_STOPPED = 'stopped third\nstopped second\nstopped first\n';

async function run(args: string[], signal?: NodeJS.Signals) {
  const child = spawn(process.execPath, [join(__dirname, 'root-in-child.cjs'), ...args]);
  let [out, err] = ['', ''];
  child.stderr.on('data', (chunk: Buffer) => (err += chunk.toString()));
  child.stdout.on('data', (chunk: Buffer) => {
    out += chunk.toString();
    if (signal && chunk.toString().includes('ready')) child.kill(signal);
  });
  const [code] = (await once(child, 'close')) as [number | null];
  return { code, out: out.replace('ready\n', ''), err };
}

it.each(['SIGTERM', 'SIGINT', 'SIGHUP'] as const)('ends in order on %s', async (signal) => {
  expect(await run(['runs'], signal)).toEqual({ code: 0, out: ALL_STOPPED, err: '' });
});

it('stops the others when one cannot be stopped, and says so', async () => {
  const { code, out, err } = await run(['stop-fails'], 'SIGTERM');
  expect([code, out, err]).toEqual([1, ALL_STOPPED, 'child: it is stuck\n']);
});

it('stops in order when it cannot go on', async () => {
  const { code, out, err } = await run(['breaks']);
  expect([code, out, err]).toEqual([1, ALL_STOPPED, 'child: the worker broke down\n']);
});

it('has exit code 2 for arguments that are not known', async () => {
  const { code, out, err } = await run(['arguments', '--prot', '1']);
  expect([code, out]).toEqual([2, ALL_STOPPED]);
  expect(err).toContain("'--prot'");
});

it('has exit code 3 for an engine that is not there, and tells why', async () => {
  const { code, err } = await run(['no-engine']);
  expect([code, err]).toEqual([3, 'child: etcd does not answer (ECONNREFUSED)\n']);
});
