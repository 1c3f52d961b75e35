import { execFile } from 'node:child_process';
import { dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { locateEngine } from '../../../src/engines';
import type { Act } from '../harness/act';
import { http } from '../harness/http';
import type { Scenario } from '../harness/scenario';
import { eventually } from '../harness/waiting';

const run = promisify(execFile);

/** etcd's history is compacted while a gateway's watch is cut: it must list anew, or it would miss what happened. */
export const compactedWhileCut: Scenario = {
  row: 5,
  name: 'compaction while the watch is cut',
  floor: 0.95,
  stage: { gateways: 2, workers: 1, proxied: { gatewayEtcd: true } },
  async run(act) {
    const steady = await act.agent('steady');
    const gone = await act.agent('gone');
    const load = act.load({ messages: act.scaled(60), overMs: 6_000, abilities: [steady] });
    act.say('cutting the watch');
    act.stage.proxies.gatewayEtcd?.cut();
    const [cut = '', other = cut] = act.stage.urls;
    const fresh = Array.from({ length: 30 }, (_, index) => act.named(`new-${index}`));
    for (const name of fresh) await registerAt(other, name);
    await http('DELETE', `${other}/v1/agents/${gone}`);
    await compact(act);
    await sleep(2_000);
    await isStale(act, cut, { fresh, gone });
    act.say('mending the watch');
    act.stage.proxies.gatewayEtcd?.mend();
    await act.recovered();
    const same = async () => {
      const [a, b] = await Promise.all([agentsSeenBy(cut), agentsSeenBy(other)]);
      return fresh.every((name) => a.includes(name)) && JSON.stringify(a) === JSON.stringify(b) && !a.includes(gone);
    };
    act.expect(await eventually(same, { limitMs: 15_000 }), 'the view of the gateway that was cut is not a fresh one');
    await act.settle(load);
  },
};

/** What a gateway that is cut off shows is what it knew before: without that the row would prove nothing. */
async function isStale(act: Act, url: string, { fresh, gone }: { fresh: string[]; gone: string }): Promise<void> {
  const seen = await agentsSeenBy(url);
  const known = fresh.filter((name) => seen.includes(name)).length;
  act.expect(
    known === 0 && seen.includes(gone),
    `the gateway that is cut off knows ${known} of ${fresh.length} new agents and has ${seen.includes(gone) ? 'kept' : 'lost'} the one that is gone: it is not cut off`,
  );
}

/** Small enough to fill in a moment; etcd allocates in steps of its own, so that it is not exact. */
const QUOTA_BYTES = 24 * 1024 * 1024;
const FILLER_BYTES = 1_000_000;

/** etcd refuses writes: what is known goes on to be used, and it heals when space is made. */
export const etcdFull: Scenario = {
  row: 6,
  name: 'etcd out of space',
  floor: 0.95,
  stage: { workers: 1, etcdQuotaBytes: QUOTA_BYTES },
  async run(act) {
    const abilities = [await act.agent('plain'), await act.agent('idempotent', { idempotent: true })];
    act.say('filling etcd');
    const filled = await eventually(() => fill(act), { limitMs: 20_000, everyMs: 10 });
    act.expect(filled, 'etcd could not be filled');
    const load = act.load({ messages: act.scaled(60), overMs: 6_000, abilities });
    const url = act.stage.urls[0]!;
    const written = await registerAt(url, act.named('late'));
    const refused = written?.status === 503 || written?.status === 507;
    act.expect(refused, `a registration is answered ${written?.status ?? 'not at all'} while etcd is full`);
    await load.done;
    act.say('making space');
    await etcdctl(act, 'del', '--prefix', '/filler/');
    await compact(act);
    await etcdctl(act, 'defrag');
    await etcdctl(act, 'alarm', 'disarm');
    await act.recovered();
    const again = await eventually(async () => (await registerAt(url, act.named('late')))?.status === 201, {
      limitMs: 30_000,
      everyMs: 500,
    });
    act.expect(again, 'registrations are not taken again within 30 s (I4)');
    await act.settle(load);
  },
};

function registerAt(url: string, name: string) {
  const capabilities = [{ name, description: `does the work of ${name}` }];
  return http('POST', `${url}/v1/agents`, { body: { name, version: '1.0.0', capabilities }, limitMs: 15_000 });
}

async function agentsSeenBy(url: string): Promise<string[]> {
  const names: string[] = [];
  for (let cursor = ''; ;) {
    const answer = await http('GET', `${url}/v1/agents?limit=100${cursor && `&cursor=${cursor}`}`);
    const items = (answer?.body?.items ?? []) as { name: string }[];
    names.push(...items.map(({ name }) => name));
    cursor = (answer?.body?.next_cursor as string | undefined) ?? '';
    if (!cursor) return names.sort();
  }
}

/** True once etcd has raised its alarm. */
async function fill(act: Act): Promise<boolean> {
  const key = `/filler/${act.random.next()}`;
  try {
    await etcdctl(act, 'put', key, 'x'.repeat(100_000));
    for (let part = 1; part < FILLER_BYTES / 100_000; part += 1)
      await etcdctl(act, 'put', `${key}/${part}`, 'x'.repeat(100_000));
    return false;
  } catch (error) {
    if (/NOSPACE|database space exceeded/i.test(String((error as { stderr?: string }).stderr))) return true;
    throw error;
  }
}

async function compact(act: Act): Promise<void> {
  const { stdout } = await etcdctl(act, 'endpoint', 'status', '--write-out', 'json');
  const [status] = JSON.parse(stdout) as [{ Status: { header: { revision: number } } }];
  await etcdctl(act, 'compact', String(status.Status.header.revision));
}

async function etcdctl({ stage }: Act, ...args: string[]): Promise<{ stdout: string }> {
  const { path } = await locateEngine('etcd', {});
  const environment = { ...process.env, ETCDCTL_API: '3' };
  return run(join(dirname(path), 'etcdctl'), ['--endpoints', stage.etcd.address, ...args], { env: environment });
}
