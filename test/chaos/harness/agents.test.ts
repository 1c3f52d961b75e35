import { entriesOf } from './agents';

const arrival = { e: 'in', agent: 'a', reach_id: 'r', key: 'k', attempt: 1, fence: 'f', bypass: false };
const lines = (...items: object[]) => items.map((item) => JSON.stringify(item)).join('\n');

it('a journal tells what came, what was done and how it was answered', () => {
  const text = lines(
    { ...arrival, id: '1', at: 10 },
    { e: 'work', id: '1', output_id: 'w' },
    { e: 'out', id: '1', answer: 'ok', at: 20 },
  );
  expect(entriesOf(text)).toEqual([
    expect.objectContaining({ arrived_ms: 10, left_ms: 20, worked: true, output_id: 'w', answer: 'ok' }),
  ]);
});

it('what a killed agent left unfinished stays open, and its half line is left out', () => {
  const text = `${lines({ ...arrival, id: '1', at: 10 })}\n{"e":"wo`;
  expect(entriesOf(text)).toEqual([expect.objectContaining({ left_ms: null, worked: false, answer: 'none' })]);
});
