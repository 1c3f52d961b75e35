import { randomUUID } from 'node:crypto';
import { readSubscribers, writeSubscribers } from './subscriber-list';

const many = (count: number) => Array.from({ length: count }, () => ({ id: randomUUID(), agent: 'audit_agent' }));

it('writes a list that people can read while it is short', () => {
  const list = many(1_000);
  expect(writeSubscribers(list)).toEqual({ count: 1_000, list });
});

it('packs a longer one, and never takes more than its share of a history event', () => {
  const list = many(4_000);
  const written = writeSubscribers(list);
  expect(written).toEqual({ count: 4_000, packed: expect.any(String) });
  expect(JSON.stringify(written).length).toBeLessThan(145_000);
  expect(readSubscribers(written)).toEqual(list);
});

it('refuses more than can be written down', () => {
  expect(() => writeSubscribers(many(20_000))).toThrow(
    expect.objectContaining({ code: 'payload_too_large', message: expect.stringContaining('20000') }),
  );
});
