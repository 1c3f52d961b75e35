import { execFile } from 'node:child_process';
import { createHash, randomBytes } from 'node:crypto';
import { mkdirSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import type { Recording } from '../checker/facts';
import type { Act } from '../harness/act';
import { http } from '../harness/http';
import type { Load } from '../harness/load';
import type { Scenario } from '../harness/scenario';

const run = promisify(execFile);

/** A disk of its own for the payloads, so that it can be full while the machine's is not. */
const DISK = join(tmpdir(), `agent-reach-chaos-disk-${process.pid}`);
const DIRECTORY = join(DISK, 'payloads');
const SIZE = '8m';
const CHUNK_BYTES = 262_144;
/** A payload of this many characters does not fit into a message, so that it must be kept. */
const LARGE = 600_000;

/**
 * The disk of the payloads fills up: what needs it is refused and comes again, all else goes on, nothing is half there. Then many
 * payloads that differ in little go through the store side by side: each agent is given the one that its reach was sent with.
 */
export const blobDiskFull: Scenario = {
  row: 15,
  name: 'blob disk full',
  floor: 0.99,
  // The disk is mounted in one place.
  alone: true,
  stage: { workers: 1, config: { payloads: { store: { type: 'files', directory: DIRECTORY } } } },
  missing: async () => ((await canMount()) ? null : 'only root may mount a small file system'),
  async run(act) {
    const abilities = [await act.agent('plain'), await act.agent('idempotent', { idempotent: true })];
    mkdirSync(DISK, { recursive: true });
    await run('mount', ['-t', 'tmpfs', '-o', `size=${SIZE}`, 'tmpfs', DISK]);
    try {
      act.say('filling the disk');
      const refs = await fill(act);
      act.notes.push(`${refs.length} payloads of 1 MiB fitted on ${SIZE}`);
      const steady = act.load({ messages: act.scaled(60), overMs: 6_000, abilities });
      const large = await largeOnes(act, abilities[1]!);
      await steady.done;
      await nothingHalf(act, refs);
      act.say('making space');
      await run('mount', ['-o', 'remount,size=64m', DISK]);
      await act.recovered();
      await large.done;
      act.expect(
        large.sent.length === large.planned && large.sent.every(({ reachId }) => reachId !== null),
        'what was refused while the disk was full is not taken within 45 s',
      );
      act.expect(
        large.sent.some(({ setbacks }) => setbacks.some((setback) => setback.startsWith('507 storage_full'))),
        'nothing was refused with 507 storage_full while the disk was full',
      );
      const mixed = mixedOnes(act, abilities);
      await mixed.done;
      judgeMix(act, mixed, await act.settle(steady, large, mixed));
      await nothingHalf(act, refs);
    } finally {
      await run('umount', ['--lazy', DISK]).catch(() => undefined);
      rmSync(DISK, { recursive: true, force: true });
    }
  },
};

async function canMount(): Promise<boolean> {
  const there = await run('mount', ['--version']).catch(() => null);
  return there !== null && process.platform === 'linux' && process.getuid?.() === 0;
}

/** Uploads payloads of a megabyte until there is no room; the references of those that were kept. */
async function fill(act: Act): Promise<string[]> {
  const refs: string[] = [];
  for (let n = 0; n < 32; n += 1) {
    const answer = await upload(act, `fill-${n}`);
    if (answer?.status === 200) refs.push(String(answer.body.payload_ref));
    else {
      const { status, body } = answer ?? { status: 0, body: null };
      act.expect(status === 507 && body?.code === 'storage_full', `a full disk is answered ${status} ${body?.code}`);
      const state = await http('GET', `${act.stage.urls[0]}/v1/payloads/${act.named(`fill-${n}`)}`);
      act.expect(state?.body?.payload_ref === undefined, 'an upload that was refused has a reference');
      return refs;
    }
  }
  act.expect(false, 'the disk could not be filled');
  return refs;
}

/** One upload; the first answer that is not good, else that of its completion. */
async function upload(act: Act, name: string) {
  const content = Buffer.from(JSON.stringify({ filler: randomBytes(393_216).toString('hex') }));
  const path = `${act.stage.urls[0]}/v1/payloads/${act.named(name)}`;
  const chunks = Math.ceil(content.length / CHUNK_BYTES);
  for (let n = 0; n < chunks; n += 1) {
    const body = content.subarray(n * CHUNK_BYTES, (n + 1) * CHUNK_BYTES);
    const answer = await fetch(`${path}/chunks/${n}`, { method: 'PUT', body });
    if (answer.status !== 200)
      return { status: answer.status, body: (await answer.json()) as { code?: string; payload_ref?: string } };
    await answer.arrayBuffer();
  }
  const sha256 = createHash('sha256').update(content).digest('hex');
  return http('POST', `${path}:complete`, { body: { chunks, sha256 } });
}

/** Reaches whose payloads must be kept: their callers come again until there is room. */
async function largeOnes(act: Act, ability: string): Promise<Load> {
  const sent: Load['sent'] = [];
  const all = [0, 1, 2, 3].map(async (n) => {
    // Of one length, and alike from the beginning to the last character.
    const script = { plan: [], work_ms: 5, tag: 'large', ballast: `${'x'.repeat(LARGE)}${n}` };
    sent.push(await act.caller().send(act.message(ability, `large-${n}`, { script })));
  });
  await sleep(1_000);
  return { planned: all.length, sent, done: Promise.all(all).then(() => undefined) };
}

/** Large payloads of about the same length, to both agents at once; some are sent twice, and some attempts fail, so that they are read again. */
function mixedOnes(act: Act, abilities: string[]): Load {
  act.say('large payloads side by side');
  return act.load(
    {
      messages: act.scaled(20),
      overMs: 1_000,
      abilities,
      ballast: LARGE,
      repeats: 0.3,
      failures: { share: 0.3, steps: ['error'] },
    },
    { prefix: 'mixed' },
  );
}

/** That they are the right ones is a rule of the checker; here, that it had something to judge. */
function judgeMix(act: Act, mixed: Load, { runs, journal }: Recording): void {
  const ids = new Set(mixed.sent.flatMap(({ reachId }) => reachId ?? []));
  const kept = runs.filter(({ reach_id, tag }) => ids.has(reach_id) && tag === null).length;
  act.expect(kept === ids.size, `${kept} of ${ids.size} large payloads were kept outside of the history`);
  const seen = journal.filter(({ reach_id, tag }) => ids.has(reach_id) && tag !== null);
  const again = seen.filter(({ attempt }) => attempt > 1).length;
  act.expect(new Set(seen.map(({ tag }) => tag)).size === ids.size, 'some large payload was seen by no agent');
  act.expect(again > 0, 'no large payload was read a second time');
  act.notes.push(`${seen.length} large payloads at the agents, ${again} of them read again for another attempt`);
}

/** Every reference given out has its content, whole; and every file that is there is whole. */
async function nothingHalf(act: Act, refs: readonly string[]): Promise<void> {
  for (const ref of refs) {
    const answer = await fetch(`${act.stage.urls[0]}/v1/payloads/${ref}`);
    const content = Buffer.from(await answer.arrayBuffer());
    act.expect(answer.status === 200 && ref === refOf(content), `the content of ${ref} is not there, or not whole`);
  }
  const files = readdirSync(join(DIRECTORY, 'default', 'payloads'), { recursive: true, withFileTypes: true });
  for (const file of files.filter((entry) => entry.isFile())) {
    const content = readFileSync(join(file.parentPath ?? file.path, file.name));
    act.expect(refOf(content).includes(basename(file.name)), `${file.name} is half a file`);
  }
  act.expect(readdirSync(join(DIRECTORY, '.scratch')).length === 0, 'files that were begun are left over');
}

const refOf = (content: Buffer) => `sha256:${createHash('sha256').update(content).digest('hex')}:${content.length}`;
