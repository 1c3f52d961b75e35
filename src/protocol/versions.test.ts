import fc from 'fast-check';
import * as semver from 'semver';
import { compareVersionsDescending, fitsVersion, isVersionRange, normalizeVersion, selectVersions } from './versions';

const registered = ['1.9.0', '1.10.0', '1.10.0-rc.1', '1.11.0-beta.1', '2.0.0-rc.1', '1.10.0+b7'].map((version) => ({
  version,
}));
const best = (range?: string) => selectVersions(registered, range).map(({ version }) => version);

describe('ranges (R20, E03)', () => {
  it.each([
    '',
    ' ',
    '^',
    'v1',
    '1',
    '1.2',
    '=1.2',
    '01.2.3',
    '1.2.3.4',
    'v1.x',
    '1.x.3',
    '||',
    '1.2.3 ||',
    '^^1.0.0',
    'banana',
    '>',
    '1.2.3 banana',
    'LATEST',
  ])('%j is none', (text) => expect(isVersionRange(text)).toBe(false));

  it.each([
    '1.2.3',
    'v1.2.3',
    '=1.10.0',
    '^1.2.0',
    '~1.2',
    '>=1.2.0 <2.0.0',
    '>= 1.2.0  < 2.0.0',
    '1.x',
    '1.2.x',
    '1.2.*',
    '*',
    'latest',
    '^1.11.0-beta',
    '1.2.3 - 2.0.0',
    '^1.2.0 || ^3.0.0',
    '1.10.0+b7',
    '^v1.2.3',
  ])('%j is one', (text) => expect(isVersionRange(text)).toBe(true));

  it('whatever is accepted, semver understands (property)', () => {
    const piece = fc.constantFrom(
      '1',
      '1.2',
      '1.2.3',
      'v1.2.3',
      '^',
      '~',
      '>=',
      '<',
      '=',
      ' ',
      '||',
      '-',
      'x',
      '*',
      '-rc.1',
      '+b',
      '01',
      '.',
    );
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 6 }), (pieces) => {
        const text = pieces.join('');
        if (isVersionRange(text)) expect(semver.validRange(text)).not.toBeNull();
      }),
      { numRuns: 1_000 },
    );
  });
});

describe('selectVersions (E03)', () => {
  it.each(['^1.2.0', '>=1.2.0 <2.0.0', '1.x'])('%s → releases only, numeric order, never 2.0.0-rc.1', (range) => {
    expect(best(range)).toEqual(['1.10.0+b7', '1.10.0', '1.9.0']);
  });

  it('latest ignores pre-releases', () => expect(best('latest')).toEqual(['1.10.0+b7', '1.10.0']));
  it('a pre-release is taken when named', () => {
    expect(best('^1.11.0-beta')).toEqual(['1.11.0-beta.1']);
    expect(best('1.10.0-rc.1')).toEqual(['1.10.0-rc.1']);
    expect(best('>=2.0.0-rc.0 <2.0.0')).toEqual(['2.0.0-rc.1']);
  });
  it('build metadata: ranges ignore it, of equals the last in order comes first', () => {
    expect(best('=1.10.0')).toEqual(['1.10.0+b7', '1.10.0']);
    expect(compareVersionsDescending('1.10.0+b7', '1.10.0')).toBeLessThan(0);
  });
  it('without a range: releases, best first; pre-releases only when there is nothing else', () => {
    expect(best()).toEqual(['1.10.0+b7', '1.10.0', '1.9.0']);
    expect(selectVersions([{ version: '0.1.0-alpha' }])).toEqual([{ version: '0.1.0-alpha' }]);
    expect(selectVersions([], 'latest')).toEqual([]);
  });
});

describe('compatible versions', () => {
  it.each([
    ['^1.2.0', ['^1.0.0'], true],
    ['1.2.3', ['^1.0.0'], true],
    ['1.2.3', ['1.2.4'], false],
    ['^1.2.0', ['~1.1.0'], false],
    ['>1.2.3 <1.3.0', ['1.2.x'], true],
    ['<1.0.0', ['<2.0.0'], true],
    ['>=1.2.0 <2.0.0', ['2.0.0-rc.1'], false],
    ['>=1.2.0 <2.0.0', ['^2.0.0-rc.1'], false],
    ['^2.0.0', ['^1.0.0', '2.x'], true],
    ['latest', ['^1.0.0'], true],
  ])('request %s, served %j → %s', (range, served, fits) => {
    expect(fitsVersion({ version: '3.0.0', compatible_versions: served }, range)).toBe(fits);
  });

  it('finds a common version whenever a release lies in both (property)', () => {
    const part = fc.nat(3);
    const version = fc.tuple(part, part, part).map((parts) => parts.join('.'));
    const range = fc
      .tuple(fc.constantFrom('^', '~', '>=', '<', '<=', '>', '='), version)
      .map((parts) => parts.join(''));
    fc.assert(
      fc.property(range, range, version, (left, right, witness) => {
        fc.pre(semver.satisfies(witness, left) && semver.satisfies(witness, right));
        expect(fitsVersion({ version: '9.9.9-x', compatible_versions: [left] }, right)).toBe(true);
      }),
    );
  });
});

describe('normalizeVersion', () => {
  it.each([
    ['1.2.3', '1.2.3'],
    ['v1.2.3', '1.2.3'],
    ['1.2.3-rc.1+b7', '1.2.3-rc.1+b7'],
    ['v1', null],
    ['1.2', null],
    ['', null],
    ['01.2.3', null],
    ['1.2.3.4', null],
    ['=1.2.3', null],
    [' 1.2.3', null],
    ['1.2.3-', null],
    ['1.2.3-01', null],
    ['99999999999999999.0.0', null],
  ])('%j → %j', (text, version) => expect(normalizeVersion(text)).toBe(version));
});
