import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { drawSet, languageOf, parseIntentSplits, readIntentFile, type IntentSplits } from './labelled-set';

const SPLITS: IntentSplits = {
  train: [
    ...Array.from({ length: 9 }, (_, i): [string, string] => [`book a table, way ${i}`, 'book_table']),
    ...Array.from({ length: 9 }, (_, i): [string, string] => [`play music, way ${i}`, 'play_music']),
    ['anything', 'oos'],
  ],
  val: [['not looked at', 'book_table']],
  test: [
    ['a table for two', 'book_table'],
    ['放点音乐', 'play_music'],
    ['nobody knows', 'label_without_examples'],
  ],
  oos_train: [['not looked at either', 'oos']],
  oos_test: [['how tall is the tower', 'oos']],
};

test('descriptions from label names, examples from train, queries from test and oos_test', () => {
  const set = drawSet(SPLITS, { name: 'tiny', perLabel: 3, seed: 1 });
  expect(set.abilities.map(({ label, description }) => [label, description])).toEqual([
    ['book_table', 'book table'],
    ['play_music', 'play music'],
  ]);
  for (const { label, examples } of set.abilities) {
    expect(new Set(examples).size).toBe(3);
    const own = SPLITS.train!.filter(([, l]) => l === label).map(([text]) => text);
    expect(own).toEqual(expect.arrayContaining(examples));
  }
  expect(set.queries).toEqual([
    { text: 'a table for two', label: 'book_table', language: 'latin' },
    { text: '放点音乐', label: 'play_music', language: 'zh' },
    { text: 'how tall is the tower', label: null, language: 'latin' },
  ]);
});

test('the same seed draws the same, another one draws otherwise', () => {
  const draw = (seed: number) => drawSet(SPLITS, { name: 'tiny', perLabel: 5, seed });
  expect(draw(7)).toEqual(draw(7));
  expect(draw(7).abilities).not.toEqual(draw(8).abilities);
});

test('a sample is part of the queries, without repetition', () => {
  const all = drawSet(SPLITS, { name: 'tiny', perLabel: 1, seed: 1 }).queries;
  const { queries } = drawSet(SPLITS, { name: 'tiny', perLabel: 1, seed: 1, sample: 2 });
  expect(queries).toHaveLength(2);
  expect(new Set(queries.map(({ text }) => text)).size).toBe(2);
  expect(all).toEqual(expect.arrayContaining(queries));
  expect(drawSet(SPLITS, { name: 'tiny', perLabel: 1, seed: 1, sample: 99 }).queries).toHaveLength(3);
});

test.each([
  ['{', /set\.json is not JSON .*expected JSON of the shape/],
  ['[]', /set\.json: expected JSON of the shape/],
  ['{"train": [], "dev": []}', /no split "test"/],
  ['{"train": {"a": "b"}, "test": []}', /set\.json: train is not a list/],
  ['{"train": [["a", "b"], ["a"]], "test": []}', /set\.json: train\[1\] is not a pair of text and label/],
  ['{"train": [["a", 1]], "test": []}', /train\[0\] is not a pair/],
])('what is wrong with %s is said, and what was expected', (content, message) => {
  expect(() => parseIntentSplits(content, 'set.json')).toThrow(message);
});

test('labels without any query, or a single label, cannot be scored', () => {
  const draw = (splits: IntentSplits) => () => drawSet(splits, { name: 'tiny', perLabel: 1, seed: 1 });
  expect(draw({ train: [['a', 'one']], test: [['a', 'one']] })).toThrow(/1 labels, at least 2/);
  expect(draw({ ...SPLITS, test: [], oos_test: [] })).toThrow(/no text with a label of "train"/);
});

test('a file is read; one that is not there is named', async () => {
  const dir = mkdtempSync(join(tmpdir(), 'sets-'));
  try {
    const path = join(dir, 'set.json');
    writeFileSync(path, JSON.stringify(SPLITS));
    expect(await readIntentFile(path)).toEqual(SPLITS);
    await expect(readIntentFile(join(dir, 'none.json'))).rejects.toThrow(/none\.json cannot be read .*--set/);
  } finally {
    rmSync(dir, { recursive: true, force: true });
  }
});

test.each([
  ['退款', 'zh'],
  ['返金はいつ', 'ja'],
  ['where is it', 'latin'],
])('%s is %s', (text, language) => expect(languageOf(text)).toBe(language));
