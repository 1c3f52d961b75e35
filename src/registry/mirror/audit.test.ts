import { agreesWith } from './audit';
import type { MirrorEntry } from './prefix-watch';

const entries = (revisions: Record<string, number>): Map<string, MirrorEntry> =>
  new Map(Object.entries(revisions).map(([key, modRevision]) => [key, { value: Buffer.alloc(0), modRevision }]));

type Revisions = Record<string, number>;
interface AuditCase {
  mirror: Revisions;
  listed: Revisions;
  deleted: Revisions;
}

it.each<[string, AuditCase, boolean]>([
  ['equal', { mirror: { a: 3, b: 5 }, listed: { a: 3, b: 5 }, deleted: {} }, true],
  ['newer by the watch', { mirror: { a: 12 }, listed: { a: 3 }, deleted: {} }, true],
  ['created since', { mirror: { a: 3, b: 11 }, listed: { a: 3 }, deleted: {} }, true],
  ['deleted since', { mirror: {}, listed: { a: 3 }, deleted: { a: 11 } }, true],
  ['a missed update', { mirror: { a: 3 }, listed: { a: 4 }, deleted: {} }, false],
  ['a missed creation', { mirror: {}, listed: { a: 3 }, deleted: {} }, false],
  ['a missed deletion', { mirror: { a: 3, b: 4 }, listed: { a: 3 }, deleted: {} }, false],
  ['deleted, then a missed creation', { mirror: {}, listed: { a: 9 }, deleted: { a: 7 } }, false],
])('%s', (_name, { mirror, listed, deleted }, expected) => {
  const listing = { entries: entries(listed), revision: 10 };
  expect(agreesWith(entries(mirror), listing, new Map(Object.entries(deleted)))).toBe(expected);
});
