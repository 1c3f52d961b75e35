import fc from 'fast-check';
import { seededRandom } from '../../../test/routing/fixtures';
import { chooseVersion, representative, stickyHash, versionShares, type VersionQuestion } from './choose-version';

const versions = ['1.0.0', '1.1.0', '1.2.0', '2.0.0'];
const all = (list: string[]) => list.map((version) => ({ version, usable: true }));
const ask = (question: Partial<VersionQuestion>): VersionQuestion => ({ entries: [], candidates: [], ...question });
const keys = Array.from({ length: 60 }, (_, n) => stickyHash('a', `customer-${n}`));
const placed = (question: VersionQuestion) =>
  new Map(keys.map((key) => [key, chooseVersion({ ...question, key })?.version]));

const weights = fc.uniqueArray(
  fc.record({ version: fc.constantFrom(...versions), weight: fc.integer({ min: 0, max: 300 }) }),
  { selector: ({ version }) => version, minLength: 1 },
);
/** Every registered version is listed: nobody is new. */
const split = weights.map((entries) =>
  ask({ entries, candidates: all(versions.filter((one) => entries.some(({ version }) => version === one))) }),
);

describe('keys', () => {
  it('stay with a version whose weight grows, and the others exchange none among themselves', () => {
    fc.assert(
      fc.property(split, fc.nat(), fc.integer({ min: 1, max: 500 }), (question, pick, more) => {
        const grown = question.entries[pick % question.entries.length]!.version;
        const entries = question.entries.map((one) =>
          one.version === grown ? { ...one, weight: one.weight + more } : one,
        );
        const before = placed(question);
        const after = placed({ ...question, entries });
        for (const [key, version] of before)
          if (after.get(key) !== version) expect([key, after.get(key)]).toEqual([key, grown]);
      }),
      { numRuns: 20 },
    );
  });

  it('of a version that dies go to the others, and no other key moves', () => {
    fc.assert(
      fc.property(split, fc.nat(), (question, pick) => {
        const dead = question.candidates[pick % question.candidates.length]!.version;
        const candidates = question.candidates.map((one) => ({ ...one, usable: one.version !== dead }));
        const before = placed(question);
        for (const key of keys) {
          const choice = chooseVersion({ ...question, candidates, key });
          if (before.get(key) !== dead) expect(choice?.version).toBe(before.get(key));
          else if (choice) expect(choice).toMatchObject({ reason: 'fallback', insteadOf: dead });
        }
      }),
      { numRuns: 20 },
    );
  });

  it('stay where they are when all weights grow alike, and do not depend on the order of routes', () => {
    fc.assert(
      fc.property(split, fc.integer({ min: 2, max: 9 }), (question, factor) => {
        const entries = question.entries.map((one) => ({ ...one, weight: one.weight * factor })).toReversed();
        expect(placed({ ...question, entries })).toEqual(placed(question));
      }),
      { numRuns: 20 },
    );
  });
});

it('takes each version with its share, whatever the weights sum to', () => {
  const question = ask({
    entries: [
      { version: '1.0.0', weight: 5 },
      { version: '1.1.0', weight: 2 },
      { version: '2.0.0', weight: 0 },
    ],
    candidates: all(['1.0.0', '1.1.0', '2.0.0']),
  });
  const random = seededRandom(7);
  const counts = new Map<string, number>();
  const draws = 3_000;
  for (let n = 0; n < draws; n += 1) {
    const { version, share } = chooseVersion({ ...question, draw: random() })!;
    expect(share).toBeCloseTo(version === '1.0.0' ? 5 / 7 : 2 / 7, 10);
    counts.set(version, (counts.get(version) ?? 0) + 1);
  }
  expect(counts.get('2.0.0')).toBeUndefined();
  // Five standard deviations of a binomial.
  expect(Math.abs(counts.get('1.1.0')! - (draws * 2) / 7)).toBeLessThan(5 * Math.sqrt(draws * (2 / 7) * (5 / 7)));
});

describe('weight 0', () => {
  it('means none, though nobody else is there', () => {
    const entries = [{ version: '1.1.0', weight: 0 }];
    expect(chooseVersion(ask({ entries, candidates: all(['1.1.0']), draw: 0.5 }))).toBeNull();
    const candidates = [
      { version: '1.0.0', usable: false },
      { version: '1.1.0', usable: true },
    ];
    expect(chooseVersion(ask({ entries, candidates, draw: 0.5 }))).toBeNull();
  });

  it('is never chosen, whatever else is listed or usable', () => {
    const candidates = fc.array(fc.boolean(), { minLength: 4, maxLength: 4 });
    fc.assert(
      fc.property(weights, candidates, fc.double({ min: 0, max: 0.999, noNaN: true }), (entries, usable, draw) => {
        const question = ask({
          entries,
          candidates: versions.map((version, i) => ({ version, usable: usable[i]! })),
          draw,
        });
        const chosen = chooseVersion(question)?.version;
        expect(entries).not.toContainEqual({ version: chosen, weight: 0 });
        if (chosen !== undefined) expect(usable[versions.indexOf(chosen)]).toBe(true);
      }),
      { numRuns: 100 },
    );
  });
});

describe('a version that no route lists', () => {
  const sharesOf = (question: VersionQuestion) =>
    Object.fromEntries(
      versionShares(
        question,
        question.candidates.filter((one) => one.usable).map(({ version }) => version),
      ).map(({ version, share }) => [version, Math.round(share * 1e6) / 1e6]),
    );

  it('gets 1 % when it is newer than the one that bears the most', () => {
    expect(sharesOf(ask({ candidates: all(['1.0.0', '1.1.0']) }))).toEqual({ '1.0.0': 0.99, '1.1.0': 0.01 });
    const entries = [{ version: '1.0.0', weight: 7 }];
    expect(sharesOf(ask({ entries, candidates: all(['1.0.0', '1.1.0']) }))).toEqual({ '1.0.0': 0.99, '1.1.0': 0.01 });
  });

  it('gets none when it is older, as long as those listed can take it', () => {
    const entries = [{ version: '1.1.0', weight: 1 }];
    expect(sharesOf(ask({ entries, candidates: all(['1.0.0', '1.1.0']) }))).toEqual({ '1.1.0': 1 });
    const dead = [
      { version: '1.0.0', usable: true },
      { version: '1.1.0', usable: false },
    ];
    expect(sharesOf(ask({ entries, candidates: dead }))).toEqual({ '1.0.0': 1 });
  });

  it('is no newcomer when its routes were taken out while it bore the most', () => {
    const candidates = all(['1.0.0', '1.1.0', '1.2.0']);
    expect(sharesOf(ask({ stable: '1.1.0', candidates }))).toEqual({ '1.1.0': 0.99, '1.2.0': 0.01 });
  });

  it('alone in being alive takes everything', () => {
    const candidates = [
      { version: '1.0.0', usable: false },
      { version: '1.1.0', usable: true },
    ];
    expect(chooseVersion(ask({ candidates, draw: 0.3 }))).toEqual({
      version: '1.1.0',
      share: 1,
      reason: 'fallback',
      insteadOf: '1.0.0',
    });
  });

  it('however many there are, the others keep half', () => {
    const many = Array.from({ length: 200 }, (_, n) => `1.${n}.0`);
    expect(sharesOf(ask({ candidates: all(many) }))['1.0.0']).toBeCloseTo(0.5);
  });

  it('loses no key when its share grows with the listed ones', () => {
    const candidates = all(['1.0.0', '1.1.0']);
    const question = ask({ entries: [{ version: '1.0.0', weight: 1 }], candidates });
    expect(placed({ ...question, entries: [{ version: '1.0.0', weight: 1_000 }] })).toEqual(placed(question));
  });
});

it('of a range that no route speaks of takes the highest', () => {
  const candidates = all(['1.9.0', '1.10.0']);
  expect(chooseVersion(ask({ candidates, ranged: true, draw: 0.1 }))).toEqual({
    version: '1.10.0',
    share: 1,
    reason: 'highest',
  });
  const entries = [{ version: '1.9.0', weight: 1 }];
  expect(representative(ask({ entries, candidates, ranged: true }))).toBe('1.9.0');
});

it('shares sum to 1, or nobody has one', () => {
  const some = fc.subarray(versions, { minLength: 1 });
  fc.assert(
    fc.property(weights, some, some, fc.boolean(), (entries, registered, usable, ranged) => {
      const shares = versionShares(
        ask({ entries, candidates: all(registered), ranged }),
        usable.filter((one) => registered.includes(one)),
      );
      const sum = shares.reduce((total, { share }) => total + share, 0);
      expect(shares.length === 0 || Math.abs(sum - 1) < 1e-9).toBe(true);
      expect(shares.every(({ share }) => share > 0)).toBe(true);
    }),
    { numRuns: 100 },
  );
});

it('another agent has its canary on other keys', () => {
  expect(stickyHash('a', 'k')).not.toBe(stickyHash('b', 'k'));
  expect(stickyHash('a', 'bk')).not.toBe(stickyHash('ab', 'k'));
});
