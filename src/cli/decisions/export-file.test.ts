import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { decisionAt } from '../../../test/decisions/records';
import type { LoggedDecision } from '../../sdk/decisions';
import { UsageError } from '../exit-codes';
import { readExport, writeExport } from './export-file';

const directory = mkdtempSync(join(tmpdir(), 'export-'));
afterAll(() => rmSync(directory, { recursive: true, force: true }));

async function* these(decisions: LoggedDecision[], end?: Error): AsyncGenerator<LoggedDecision> {
  yield* decisions;
  if (end) throw end;
}

async function read(file: string): Promise<LoggedDecision[]> {
  const found: LoggedDecision[] = [];
  for await (const decision of readExport(file)) found.push(decision);
  return found;
}

const inputs: LoggedDecision['inputs'] = {
  request: { ability: 'help', type: 'task', group: 'default', mode: 'sync' },
  strategy: 'score_based',
  exploration: { rate: 0.1, band: 0.05 },
  open_match: { minFit: 0.5, minConfidence: 0 },
  offers: [
    {
      agent_name: 'ant',
      agent_version: '1.0.0',
      ability: 'help',
      registered_at: '2026-01-01T00:00:00.000Z',
      text_id: 't',
    },
  ],
  newcomer_p50_ms: 500,
};

test.each(['plain.jsonl', 'packed.jsonl.gz'])('what is written to %s is read as it was', async (name) => {
  const file = join(directory, name);
  const decisions = [decisionAt(1_000), decisionAt(2_000, { inputs })];
  expect(await writeExport(file, these(decisions))).toBe(2);
  expect(await read(file)).toEqual(decisions);
  expect(readdirSync(directory)).not.toContain(`${name}.part`);
});

test('an export that fails leaves the one before as it was, and nothing else', async () => {
  const file = join(directory, 'kept.jsonl');
  writeFileSync(file, 'earlier');
  await expect(writeExport(file, these([decisionAt(1)], new Error('gone')))).rejects.toThrow('gone');
  expect(readFileSync(file, 'utf8')).toBe('earlier');
  expect(readdirSync(directory)).not.toContain('kept.jsonl.part');
});

test('a place that cannot be written to is told as one', async () => {
  const file = join(directory, 'missing', 'x.jsonl');
  await expect(writeExport(file, these([]))).rejects.toThrow(UsageError);
});

test.each([
  ['no time', { at: undefined }],
  ['inputs of nothing', { inputs: {} }],
  ['offers that are none', { inputs: { ...inputs, offers: null } }],
  ['a request that is none', { inputs: { ...inputs, request: null } }],
  ['no weights', { weights: undefined }],
])('a line with %s is refused by its number', async (_what, change) => {
  const file = join(directory, 'broken.jsonl');
  const lines = [decisionAt(1_000, { inputs }), { ...decisionAt(2_000, { inputs }), ...change }];
  writeFileSync(file, lines.map((line) => JSON.stringify(line)).join('\n'));
  await expect(read(file)).rejects.toThrow(/broken\.jsonl:2 is no decision/);
});
