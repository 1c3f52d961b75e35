import fc from 'fast-check';
import { Membership } from './membership';

let nowMs = 0;
beforeEach(() => void (nowMs = 0));
const monotonicMs = () => nowMs;
const open = (id: string) => new Membership(id, monotonicMs);

function pass(ms: number, members: Membership[], connected = true): void {
  for (const end = nowMs + ms; nowMs < end;) {
    nowMs = Math.min(end, nowMs + 100);
    for (const member of members) member.settle(connected);
  }
}

it('alone at start, a worker has the whole limit at once', () => {
  const one = open('a');
  one.see('a', true);
  one.begin();
  expect([one.count, one.share(7), one.share(1)]).toEqual([1, 7, 1]);
});

it('a worker that joins has nothing for a second, while the others make room at once', () => {
  const [one, two] = [open('a'), open('b')];
  one.see('a', true);
  one.begin();
  for (const member of [one, two]) member.see('b', true);
  two.see('a', true);
  two.begin();
  expect(one.settle(true)).toBe(true);
  expect([one.share(5), two.share(5)]).toEqual([3, 0]);
  pass(900, [one, two]);
  expect(two.share(5)).toBe(0);
  pass(100, [one, two]);
  expect([one.share(5), two.share(5)]).toEqual([3, 2]);
});

it('one that etcd has no space to announce makes one call at a time, until it is announced', () => {
  const one = open('a');
  one.begin();
  expect([one.share(7), one.share(0)]).toEqual([0, 0]);
  expect(one.noSpace(true)).toBe(true);
  expect(one.noSpace(true)).toBe(false);
  expect([one.share(7), one.share(1), one.share(0)]).toEqual([1, 1, 0]);
  one.see('a', true);
  expect(one.noSpace(false)).toBe(true);
  pass(1_000, [one]);
  expect(one.share(7)).toBe(7);
});

it('one that leaves is counted for a second more', () => {
  const one = open('a');
  for (const id of ['a', 'b']) one.see(id, true);
  one.begin();
  pass(3_000, [one]);
  one.see('b', false);
  pass(900, [one]);
  expect(one.share(4)).toBe(2);
  pass(100, [one]);
  expect(one.share(4)).toBe(4);
});

it('when all keys vanish at once nobody takes the share of another', () => {
  const ids = ['a', 'b', 'c'];
  const members = ids.map(open);
  for (const member of members) for (const id of ids) member.see(id, true);
  members.forEach((member) => member.begin());
  pass(3_000, members);
  for (const id of ids) {
    for (const member of members) member.see(id, false);
    pass(100, members);
  }
  expect(members.map((member) => member.share(7))).toEqual([3, 2, 2]);
  for (const id of ids) {
    pass(800, members);
    expect(members.map((member) => member.share(7))).toEqual([3, 2, 2]);
    for (const member of members) member.see(id, true);
  }
  pass(10_000, members);
  expect(members.map((member) => member.share(7))).toEqual([3, 2, 2]);
});

it('one that cannot come back though etcd answers gives its share up', () => {
  const one = open('a');
  one.see('a', true);
  one.begin();
  one.see('a', false);
  pass(60_000, [one], false);
  expect(one.share(4)).toBe(4);
  pass(4_900, [one]);
  expect(one.share(4)).toBe(4);
  pass(200, [one]);
  expect(one.share(4)).toBe(0);
});

it('many limits of one do not all fall to the same worker', () => {
  const ids = ['a', 'b', 'c', 'd'];
  const members = ids.map(open);
  for (const member of members) for (const id of ids) member.see(id, true);
  pass(1_000, members);
  const instances = Array.from({ length: 400 }, (_, n) => `refund/1.0.0/pod-${n}`);
  const totals = members.map((member) => instances.reduce((sum, key) => sum + member.share(1, key), 0));
  expect(totals.reduce((sum, total) => sum + total, 0)).toBe(400);
  expect(Math.min(...totals)).toBeGreaterThan(60);
});

it('shares sum to the limit exactly (property)', () => {
  const key = fc.option(fc.string(), { nil: undefined });
  fc.assert(
    fc.property(
      fc.uniqueArray(fc.string({ minLength: 1 }), { minLength: 1, maxLength: 12 }),
      fc.nat(200),
      key,
      (ids, limit, key) => {
        const shares = ids.map((own) => {
          const member = open(own);
          for (const id of ids) member.see(id, true);
          nowMs += 1_000;
          member.settle(true);
          return member.share(limit, key);
        });
        expect(shares.reduce((sum, share) => sum + share, 0)).toBe(limit);
        expect(Math.max(...shares) - Math.min(...shares)).toBeLessThanOrEqual(1);
      },
    ),
  );
});

it('never sum to more while workers come and go and news takes up to 0.4 s (property)', () => {
  const change = fc.record({ who: fc.nat(5), waitMs: fc.nat(2_000) });
  const delays = fc.array(fc.nat(400), { minLength: 6, maxLength: 6 });
  fc.assert(
    fc.property(fc.array(change, { maxLength: 15 }), delays, fc.nat(20), (changes, delaysMs, limit) => {
      nowMs = 0;
      const present = new Set<number>();
      const members = new Map<number, Membership>();
      const news: { atMs: number; to: Membership; id: string; isThere: boolean }[] = [];
      const deliver = () => {
        for (const { to, id, isThere } of news.filter(({ atMs }) => atMs <= nowMs)) to.see(id, isThere);
        news.splice(0, news.length, ...news.filter(({ atMs }) => atMs > nowMs));
        for (const member of members.values()) member.settle(true);
        const sum = [...members.values()].reduce((total, member) => total + member.share(limit), 0);
        expect(sum).toBeLessThanOrEqual(limit);
      };
      const tell = (id: string, isThere: boolean) => {
        for (const [who, to] of members) news.push({ atMs: nowMs + delaysMs[who]!, to, id, isThere });
      };
      let generation = 0;
      for (const { who, waitMs } of changes) {
        if (present.delete(who)) {
          const id = names.get(who)!;
          members.delete(who);
          tell(id, false);
        } else {
          const id = `${who}-${generation++}`;
          const member = open(id);
          for (const other of present) member.see(names.get(other)!, true);
          member.see(id, true);
          member.begin();
          tell(id, true);
          present.add(who);
          members.set(who, member);
          names.set(who, id);
        }
        for (const end = nowMs + waitMs; nowMs < end; nowMs += 50) deliver();
      }
      for (const end = nowMs + 5_000; nowMs < end; nowMs += 50) deliver();
      const sum = [...members.values()].reduce((total, member) => total + member.share(limit), 0);
      expect(sum).toBe(members.size === 0 ? 0 : limit);
    }),
  );
});
const names = new Map<number, string>();
