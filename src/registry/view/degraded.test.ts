import { agent, instance } from '../../../test/routing/fixtures';
import type { InstanceState } from '../../protocol/shapes';
import type { AgentVersion } from '../../protocol/world';
import { DegradedWatch } from './degraded';

const BORN_MS = Date.parse('2026-03-01T12:03:01.000Z');
let nowMs: number;
let lines: string[];
let watch: DegradedWatch;
beforeEach(() => {
  [nowMs, lines] = [BORN_MS, []];
  const keep = (_facts: object, message: string) => void lines.push(message);
  watch = new DegradedWatch({
    threshold: 0.3,
    clock: { wall: () => new Date(nowMs), monotonicMs: () => nowMs },
    logger: { debug: keep, info: keep, warn: keep, error: keep },
  });
});

/** Ten agents, each with these instances. */
const ten = (instances: (n: number) => InstanceState[]): AgentVersion[] =>
  Array.from({ length: 10 }, (_, n) =>
    agent({ name: `a${n}`, version: '1.0.0', capabilities: ['mend'] }, instances(n)),
  );

it('agents that have only just come and were never ready are no loss', () => {
  expect(watch.reassess(ten(() => []))).toBe(false);
  for (let ready = 1; ready <= 10; ready += 1) {
    watch.reassess(ten((n) => (n < ready ? [instance()] : [])));
    expect(watch.current).toBeNull();
  }
  expect(lines).toEqual([]);
});

it('who does not come within its time counts, without anything having happened', () => {
  watch.reassess(ten((n) => (n < 2 ? [instance()] : [])));
  expect([watch.current, watch.isWaiting]).toEqual([null, true]);
  nowMs += 30_000;
  expect(watch.reassess(ten((n) => (n < 2 ? [instance()] : [])))).toBe(true);
  expect(watch.current).toMatchObject({ healthyShare: 0.2 });
  expect(watch.isWaiting).toBe(false);
  expect(lines).toHaveLength(1);
});

it('who was ready and went is a loss at once, however new', () => {
  watch.reassess(ten(() => [instance()]));
  watch.reassess(ten((n) => (n < 2 ? [instance()] : [])));
  expect(watch.current).toMatchObject({ healthyShare: 0.2 });
});

it('a process that starts takes those that left for lost', () => {
  const left = instance({ status: 'expired', health: 'unknown' });
  watch.reassess(ten((n) => (n < 2 ? [instance()] : [])).map((one, n) => (n < 2 ? one : { ...one, gone: [left] })));
  expect(watch.current).toMatchObject({ healthyShare: 0.2 });
});

it('static addresses whose first probes fail have their time; those that passed once do not', () => {
  const address = (more: Partial<InstanceState>) => [instance({ source: 'static', ...more })];
  const failing = address({ status: 'unavailable', health: 'failing' });
  watch.reassess(ten(() => address({ health: 'unknown' })));
  watch.reassess(ten(() => failing));
  expect(watch.current).toBeNull();
  watch.reassess(ten(() => address({ health: 'passing' })));
  watch.reassess(ten(() => failing));
  expect(watch.current).toMatchObject({ healthyShare: 0 });
});

it('another version of a known agent makes it no newcomer', () => {
  watch.reassess(ten(() => []));
  nowMs += 60_000;
  const newer = { registered_at: new Date(nowMs).toISOString(), version: '2.0.0' };
  watch.reassess(ten(() => []).flatMap((one) => [one, { ...one, ...newer }]));
  expect(watch.current).toMatchObject({ healthyShare: 0 });
});
