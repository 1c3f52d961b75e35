/**
 * Versions and version ranges (R20) on top of `semver`: which strings are versions, which are ranges, and
 * which candidates fit a request.
 */
import * as semver from 'semver';

/** The request word for "the highest release": pre-releases never are the latest. */
const LATEST = 'latest';

const FULL = String.raw`v?(?:0|[1-9]\d*)\.(?:0|[1-9]\d*)\.(?:0|[1-9]\d*)(?:-[0-9A-Za-z.-]+)?(?:\+[0-9A-Za-z.-]+)?`;
const FULL_VERSION = new RegExp(`^${FULL}$`);
/** `1.x`, `1.2.*`, `*`: partial versions that say so. */
const X_RANGE = /^(?:[xX*]|(?:0|[1-9]\d*)\.(?:[xX*]|(?:0|[1-9]\d*)\.[xX*])(?:\.[xX*])?)$/;
/** A comparator: after an operator, partial versions are clear (`^1.2`, `>=1`). */
const WITH_OPERATOR = new RegExp(`^(?:\\^|~>?|[<>]=?)(?:${FULL}|(?:0|[1-9]\\d*)(?:\\.(?:0|[1-9]\\d*|[xX*])){0,2})$`);
const EXACT = new RegExp(`^=(?:${FULL})$`);

/** A candidate as far as versions go. */
export interface VersionedCandidate {
  version: string;
  /** Ranges of older versions it also serves. */
  compatible_versions?: readonly string[];
}

/** Whether a text is a version range a request or `compatible_versions` may use. */
export function isVersionRange(text: string): boolean {
  const range = text.trim();
  if (range === LATEST) return true;
  return (
    range !== '' && range.split('||').every((part) => isComparatorSet(part.trim())) && semver.validRange(range) !== null
  );
}

/** What to say about a text that is no range. */
export const VERSION_RANGE_FIX =
  'use a full version (1.2.3) or a semver range such as ^1.2.0, >=1.2.0 <2.0.0, 1.x or latest';

function isComparatorSet(part: string): boolean {
  const hyphen = /^(\S+)\s+-\s+(\S+)$/.exec(part);
  if (hyphen !== null)
    return [hyphen[1]!, hyphen[2]!].every((end) => FULL_VERSION.test(end) || /^\d+(\.\d+)?$/.test(end));
  const comparators = part.replace(/([<>=~^])\s+/g, '$1').split(/\s+/);
  return comparators.every(
    (item) => FULL_VERSION.test(item) || X_RANGE.test(item) || WITH_OPERATOR.test(item) || EXACT.test(item),
  );
}

/**
 * A version as it is stored: full semver, a leading `v` dropped, build metadata kept. Null when it is no
 * version (`v1`, `1.2`, `01.2.3`, `1.2.3.4`, the empty string).
 */
export function normalizeVersion(text: string): string | null {
  if (!FULL_VERSION.test(text)) return null;
  const version = text.replace(/^v/, '');
  return semver.valid(version) === null ? null : version;
}

/**
 * Whether one candidate fits a requested range: its own version satisfies it, or some version exists that
 * both the request and a range of its `compatible_versions` allow (it declared that it serves that version).
 *
 * Pre-releases satisfy a range only where the range names one of the same major.minor.patch, so `^1.2.0`
 * never takes 2.0.0-rc.1, whatever the spelling. `latest` takes any release's own version here;
 * {@link selectVersions} keeps the highest. Build metadata is ignored by ranges (semver § 10).
 */
export function fitsVersion(candidate: VersionedCandidate, range: string): boolean {
  if (range === LATEST) return semver.prerelease(candidate.version) === null;
  if (semver.satisfies(candidate.version, range)) return true;
  return (candidate.compatible_versions ?? []).some((served) => haveCommonVersion(served, range));
}

/**
 * Two ranges have a version in common. `semver.intersects` compares bounds only and so lets pre-releases
 * in that neither range allows; here a witness must satisfy both. The lowest common version is always a
 * bound of one of them, the next patch after an exclusive bound, or 0.0.0.
 */
function haveCommonVersion(left: string, right: string): boolean {
  return [...witnesses(left), ...witnesses(right), '0.0.0'].some(
    (version) => semver.satisfies(version, left) && semver.satisfies(version, right),
  );
}

function witnesses(range: string): string[] {
  if (range === LATEST) return [];
  return new semver.Range(range).set.flatMap((comparators) =>
    comparators.flatMap(({ semver: bound }) => {
      if (!(bound instanceof semver.SemVer)) return []; // the comparator that takes anything
      const release = `${bound.major}.${bound.minor}.${bound.patch}`;
      const next = `${bound.major}.${bound.minor}.${bound.patch + 1}`;
      return bound.prerelease.length > 0 ? [bound.version, `${bound.version}.0`, release, next] : [release, next];
    }),
  );
}

/** Order of preference: highest precedence first; of versions that differ in build metadata only, the one whose metadata sorts last. */
export function compareVersionsDescending(left: string, right: string): number {
  return semver.compareBuild(right, left);
}

/**
 * The candidates that fit a request, best version first.
 * - No range: any, but pre-releases only when there is no release at all.
 * - `latest`: those of the highest release.
 * - A range: {@link fitsVersion}.
 */
export function selectVersions<T extends VersionedCandidate>(candidates: readonly T[], range?: string): T[] {
  const sorted = [...candidates].sort((a, b) => compareVersionsDescending(a.version, b.version));
  if (range !== undefined && range !== LATEST) return sorted.filter((candidate) => fitsVersion(candidate, range));
  const releases = sorted.filter((candidate) => fitsVersion(candidate, LATEST));
  if (range === undefined) return releases.length > 0 ? releases : sorted;
  const [highest] = releases;
  return releases.filter((candidate) => semver.eq(candidate.version, highest!.version));
}
