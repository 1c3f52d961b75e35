import { agreesWith } from './audit';
import type { MirrorEntry } from './prefix-watch';

const entries = (revisions: Record<string, number>): Map<string, MirrorEntry> =>
  new Map(Object.entries(revisions).map(([key, modRevision]) => [key, { value: Buffer.alloc(0), modRevision }]));

it.each<[string, Record<string, number>, Record<string, number>, Record<string, number>, boolean]>([
  ['equal', { a: 3, b: 5 }, { a: 3, b: 5 }, {}, true],
  ['newer by the watch', { a: 12 }, { a: 3 }, {}, true],
  ['created since', { a: 3, b: 11 }, { a: 3 }, {}, true],
  ['deleted since', {}, { a: 3 }, { a: 11 }, true],
  ['a missed update', { a: 3 }, { a: 4 }, {}, false],
  ['a missed creation', {}, { a: 3 }, {}, false],
  ['a missed deletion', { a: 3, b: 4 }, { a: 3 }, {}, false],
  ['deleted, then a missed creation', {}, { a: 9 }, { a: 7 }, false],
])('%s', (_name, mirror, listed, deleted, expected) => {
  const listing = { entries: entries(listed), revision: 10 };
  expect(agreesWith(entries(mirror), listing, new Map(Object.entries(deleted)))).toBe(expected);
});
