import { Ledger, book } from './ledger';
import { storiesOf, textOf, type StoreLine } from './store-journal';

const nothing = { effects: new Map(), told: new Map() };
const text = (lines: readonly (StoreLine | { e: string })[]) => lines.map((line) => JSON.stringify(line)).join('\n');
const started = {
  agent: 'a',
  reach_id: 'r',
  attempt: 1,
  fence: '1',
  bypass: false,
  semantics: 'exactly_once',
} as const;

const lines: StoreLine[] = [
  { e: 'ask', id: 'b1', what: 'begin', hash: 'h', fence: '1', at: 1 },
  { e: 'told', id: 'b1', status: 'free', output: null, at: 2 },
  { e: 'in', id: 'run', key: 'k', hash: 'h', begin: 'b1', at: 3, ...started },
  { e: 'work', id: 'run', output_id: 'o', output: '{"o":1}' },
  { e: 'ask', id: 'c1', what: 'complete', hash: 'h', fence: '1', output: '{"o":1}', at: 4 },
];

it('reads the story of a key, and what was asked by a process that did not live to be told', () => {
  const begin = { id: 'b1', fence: '1', asked_ms: 1, told_ms: 2, answer: 'free', output: null };
  const effects = new Map([['k', [{ fence: '1', taken_ms: 3 }]]]);
  expect(storiesOf(text(lines), ['a'], { ...nothing, effects })).toEqual([
    {
      key: 'k',
      semantics: 'exactly_once',
      begins: [begin],
      completes: [{ fence: '1', offered: '{"o":1}', asked_ms: 4, told_ms: null, answer: null, output: null }],
      runs: [{ reach_id: 'r', attempt: 1, fence: '1', started_ms: 3, begin, output: '{"o":1}' }],
      effects: [{ fence: '1', taken_ms: 3 }],
      told: [],
    },
  ]);
});

it('leaves out other agents, agents without a store, and a line that a kill cut short', () => {
  const other: StoreLine = { e: 'in', id: 'x', key: 'other', hash: 'i', begin: null, at: 5, ...started, agent: 'b' };
  const plain = { e: 'in', id: 'y', key: 'plain', agent: 'a' };
  const stories = storiesOf(`${text([...lines, other, plain])}\n{"e":"to`, ['a'], nothing);
  expect(stories.map(({ key }) => key)).toEqual(['k']);
});

it('the same output is the same text, in whatever order its members came', () => {
  expect(textOf({ b: 1, a: 2 })).toBe(textOf({ a: 2, b: 1 }));
  expect(textOf({ a: 2 })).not.toBe(textOf({ a: 3 }));
});

it('the ledger refuses a smaller fence, but to those that are not fenced', async () => {
  const ledger = await Ledger.open();
  try {
    const fences = ['2', '1', '2', '3'];
    const taken = [];
    for (const fence of fences) taken.push(await book(ledger.url, { key: 'k', fence, fenced: true }));
    expect(taken).toEqual([true, false, true, true]);
    expect(await book(ledger.url, { key: 'k', fence: '1', fenced: false })).toBe(true);
    expect(ledger.effects.get('k')?.map(({ fence }) => fence)).toEqual(['2', '2', '3', '1']);
    expect(ledger.refused).toBe(1);
  } finally {
    await ledger.close();
  }
});
