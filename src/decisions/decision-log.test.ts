import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { resolve } from 'node:path';
import fc from 'fast-check';
import { decisionAt, keepAll, logIn, newDirectory, refusalAt } from '../../test/decisions/records';
import { FileStore } from '../payloads/file-store';
import type { DecisionFilter } from '../protocol/decision-log';
import type { LoggedDecision } from '../protocol/logged-decision';
import type { DecisionLog } from './decision-log';
import { testOf } from './filter';
import { newerFirst } from './order';

const NOON_MS = Date.parse('2026-03-01T12:00:00.000Z');
const HOUR_MS = 3_600_000;
const now = () => NOON_MS + 60_000;

async function pagesOf(log: DecisionLog, filter: DecisionFilter, limit: number): Promise<LoggedDecision[]> {
  const found: LoggedDecision[] = [];
  let cursor: string | undefined;
  do {
    const page = await log.list(filter, { limit, ...(cursor !== undefined && { cursor }) });
    expect(page.items.length).toBeLessThanOrEqual(limit);
    found.push(...page.items);
    cursor = page.next_cursor;
  } while (cursor !== undefined);
  return found;
}

const idsOf = (decisions: readonly LoggedDecision[]) => decisions.map(({ decision_id }) => decision_id);

test('pages of any size, over any number of processes and writes, are everything that fits, newest first, once', async () => {
  const decision = fc.record({
    minutesAgo: fc.integer({ min: 0, max: 200 }),
    agent: fc.constantFrom('ant', 'bee'),
    refused: fc.boolean(),
    process: fc.nat({ max: 2 }),
  });
  const filters = fc.constantFrom<DecisionFilter>(
    {},
    { agent: 'bee' },
    { code: 'circuit_open' },
    { reason: 'breaker_open' },
    { reason: 'ONLY agent' },
    { since: new Date(NOON_MS - HOUR_MS).toISOString(), until: new Date(NOON_MS - 600_000).toISOString() },
  );
  await fc.assert(
    fc.asyncProperty(
      fc.array(decision, { maxLength: 25 }),
      filters,
      fc.integer({ min: 1, max: 7 }),
      async (plans, filter, limit) => {
        const directory = newDirectory();
        const logs = ['a', 'b', 'c'].map((madeBy) => logIn(directory, { madeBy, nowMs: now }).log);
        const made: LoggedDecision[] = [];
        for (const [i, { minutesAgo, agent, refused, process }] of plans.entries()) {
          const ms = NOON_MS - minutesAgo * 60_000;
          made.push(refused ? refusalAt(ms) : decisionAt(ms, { agent }));
          keepAll(logs[process]!, made.slice(-1));
          if (i % 5 === 4) await logs[process]!.flush();
        }
        for (const log of logs.slice(1)) await log.close();
        const expected = made.filter((one) => testOf(filter).fits(one)).sort(newerFirst);
        expect(idsOf(await pagesOf(logs[0]!, filter, limit))).toEqual(idsOf(expected));
        const walked: LoggedDecision[] = [];
        for await (const one of logs[0]!.walk(filter)) walked.push(one);
        expect(idsOf(walked).sort()).toEqual(idsOf(expected).sort());
        for (const one of made) expect(await logs[0]!.get(one.decision_id)).toEqual(one);
        await logs[0]!.close();
      },
    ),
    { numRuns: 25 },
  );
});

test('a decision is seen at once where it was made, and elsewhere once it is written', async () => {
  const directory = newDirectory();
  const [one, other] = [logIn(directory).log, logIn(directory, { madeBy: 'other' }).log];
  const decision = decisionAt(Date.now());
  keepAll(one, [decision]);
  expect((await one.list({}, { limit: 5 })).items).toEqual([decision]);
  expect(await one.get(decision.decision_id)).toEqual(decision);
  expect((await other.list({}, { limit: 5 })).items).toEqual([]);
  await expect(other.get(decision.decision_id)).rejects.toMatchObject({ code: 'not_found' });
  await one.flush();
  expect((await other.list({}, { limit: 5 })).items).toEqual([decision]);
  expect(await other.get(decision.decision_id)).toEqual(decision);
  await Promise.all([one.close(), other.close()]);
});

test('a process that is killed loses no more than what came since its last write', async () => {
  const directory = newDirectory();
  const script = resolve(__dirname, '../../test/decisions/append-in-child.cjs');
  const child = spawn(process.execPath, [script, directory], { stdio: ['ignore', 'pipe', 'inherit'] });
  let written = 0;
  for await (const line of createInterface({ input: child.stdout })) {
    written = Number(line);
    if (written >= 200) break;
  }
  child.kill('SIGKILL');
  await new Promise((ended) => child.once('exit', ended));
  const { log } = logIn(directory);
  const kept = (await pagesOf(log, {}, 200)).map(({ decision_id }) => decision_id).sort();
  expect(kept.length).toBeGreaterThanOrEqual(written);
  expect(kept).toEqual(kept.map((_, i) => `d-${String(i).padStart(8, '0')}`)); // none is missing before the last
});

test('while the store cannot be used decisions wait, bounded, and are written when it is back; then each is there once', async () => {
  const store = new FileStore(newDirectory());
  const put = jest.spyOn(store, 'put').mockRejectedValue(new Error('no space'));
  const { log, events } = logIn(store);
  const decisions = Array.from({ length: 50 }, (_, i) => decisionAt(Date.now() - i));
  keepAll(log, decisions);
  await log.flush();
  await log.flush();
  expect(events).toEqual({ written: 0, dropped: 0, failures: 1 }); // told once
  const large = decisionAt(Date.now(), { route_reason: 'x'.repeat(17_000_000) });
  keepAll(log, [large]);
  expect(events.dropped).toBe(1);
  put.mockRestore();
  await log.close();
  expect(events.written).toBe(50);
  const other = logIn(store).log;
  expect(idsOf(await pagesOf(other, {}, 20)).sort()).toEqual(idsOf(decisions).sort());
});

test('what is too old goes, and of too much the oldest; what may still grow stays', async () => {
  const directory = newDirectory();
  const settings = { retention: 24 * HOUR_MS, max_bytes: 20_000 };
  const wide = (ms: number) =>
    decisionAt(ms, { route_reason: Array.from({ length: 400 }, () => Math.random()).join() });
  const times = [30 * HOUR_MS, 20 * HOUR_MS, 10 * HOUR_MS, 5 * HOUR_MS, 0];
  for (const ago of times) {
    const { log } = logIn(directory, { madeBy: `p${ago}`, nowMs: now });
    keepAll(log, [wide(NOON_MS - ago), wide(NOON_MS - ago)]);
    await log.close();
  }
  const { log } = logIn(directory, { settings: { ...settings, max_bytes: 1e9 }, nowMs: now });
  expect(await log.prune()).toMatchObject({ segments: 4, removed: 1 });
  const tight = logIn(directory, { settings, nowMs: now }).log;
  const pruned = await tight.prune();
  expect(pruned.bytes).toBeLessThanOrEqual(20_000);
  expect(pruned.removed).toBeGreaterThan(0);
  const left = await pagesOf(tight, {}, 50);
  expect(left.length).toBe(2 * pruned.segments);
  expect(Date.parse(left[0]!.at)).toBe(NOON_MS); // the newest are those that stay
  expect(await tight.prune()).toMatchObject({ removed: 0 });
});

test('a sample is the same for every process, about as large as asked for, and text is kept only where it may be', () => {
  const { log } = logIn(newDirectory(), { settings: { sample_rate: 0.25 } });
  const ids = Array.from({ length: 4_000 }, () => decisionAt(NOON_MS).decision_id);
  const kept = ids.filter((id) => log.wants(id));
  expect(kept.length / ids.length).toBeGreaterThan(0.2);
  expect(kept.length / ids.length).toBeLessThan(0.3);
  const other = logIn(newDirectory(), { settings: { sample_rate: 0.25 }, madeBy: 'other' }).log;
  expect(ids.filter((id) => other.wants(id))).toEqual(kept);
});

test('a cursor that is none is refused, saying which one to use', async () => {
  const { log } = logIn(newDirectory());
  await expect(log.list({}, { limit: 5, cursor: 'bm9uZQ' })).rejects.toMatchObject({
    code: 'invalid_request',
    options: { errors: [{ pointer: '/cursor' }] },
  });
});
