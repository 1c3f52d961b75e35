import { createHash } from 'node:crypto';
import { heaviest, type ListedVersion } from '../../protocol/route-table';
import { compareVersionsDescending } from '../../protocol/versions';

/** What a version gets that nobody has written a route for, of its agent's calls in a group (R21). */
export const UNLISTED_SHARE = 0.01;
/** Several of them together never get more than this, however many there are. */
const MAX_UNLISTED_TOTAL = 0.5;

/** A version that fits a request. `usable`: it could take it now; a dead one only shows whom it is stood in for. */
export interface VersionCandidate {
  version: string;
  usable: boolean;
}

/** All that the choice of a version depends on. */
export interface VersionQuestion {
  /** What routes list of this agent for the ability and the caller's group. */
  entries: readonly ListedVersion[];
  /** The versions of the agent that fit, in the order in which they were first registered. */
  candidates: readonly VersionCandidate[];
  /** The version that bore the most before its routes were taken out of the table. */
  stable?: string;
  /** The caller named a range of versions. */
  ranged?: boolean;
  /** Hash of the sticky key, of {@link stickyHash}. */
  key?: string;
  /** In [0, 1), from a generator; decides where there is no key. */
  draw?: number;
}

/**
 * Why this version:
 * - `listed`: a route gives it a share.
 * - `stable`: no route lists any that can take it; it is the one known longest, or that bore the most last.
 * - `unlisted`: it is newer than that and no route lists it, so it gets {@link UNLISTED_SHARE}.
 * - `highest`: the caller named a range and no route lists any version in it; the highest is the best of it (E03).
 * - `fallback`: `insteadOf` was due and cannot take it.
 */
export type VersionReason = 'listed' | 'stable' | 'unlisted' | 'highest' | 'fallback';

/** A version, and with what share it was chosen. */
export interface VersionChoice {
  version: string;
  /** Of the agent's calls in the group while the same versions are usable, 0–1. */
  share: number;
  reason: VersionReason;
  insteadOf?: string;
}

/**
 * Chooses one of an agent's versions (R21) by weighted rendezvous hashing: the key and each version are hashed to a number
 * u in (0, 1), and the least −ln(u) / weight wins. That is a race of exponential clocks, so each version wins with
 * exactly its share; and as each clock depends on its own weight alone, a version whose weight grows loses no key, and
 * when others change only keys that come from or go to them move.
 * (Thaler & Ravishankar, "Using name-based mappings to increase hit rates", IEEE/ACM ToN 1998; the logarithmic weights:
 * Schindelhauer & Schomaker, "Weighted distributed hash tables", SPAA 2005.)
 * Null when none is usable, or those that are have weight 0, which means none, ever.
 */
export function chooseVersion(question: VersionQuestion): VersionChoice | null {
  const usable = question.candidates.filter((one) => one.usable).map(({ version }) => version);
  const shares = versionShares(question, usable);
  const won = race(shares, question);
  if (won === null) return null;
  const all = question.candidates.map(({ version }) => version);
  const due = usable.length === all.length ? won : race(versionShares(question, all), question)!;
  const share = shares.find(({ version }) => version === won.version)!.share;
  if (due.version === won.version) return { ...won, share };
  return { version: won.version, share, reason: 'fallback', insteadOf: due.version };
}

/** The version that bears the most of those that are usable: it stands for its agent where agents are compared. */
export function representative(question: VersionQuestion): string | null {
  const usable = question.candidates.filter((one) => one.usable).map(({ version }) => version);
  let best: VersionShare | null = null;
  for (const one of versionShares(question, usable)) if (best === null || one.share > best.share) best = one;
  return best?.version ?? null;
}

/** A version with its share, 0–1, and why it has it. */
export interface VersionShare {
  version: string;
  share: number;
  reason: Exclude<VersionReason, 'fallback'>;
}

/** The shares of versions when these are the usable ones; they sum to 1, or there are none. */
export function versionShares(question: VersionQuestion, usable: readonly string[]): VersionShare[] {
  const { entries, ranged } = question;
  const weightOf = new Map(entries.map(({ version, weight }) => [version, weight]));
  const open = usable.filter((version) => weightOf.get(version) !== 0);
  const listed = open.filter((version) => weightOf.has(version));
  if (listed.length === 0 && ranged) return alone(open.toSorted(compareVersionsDescending)[0], 'highest');
  const { newer, older, reference } = byAge(question, open, weightOf);
  const bearer = open.includes(reference) ? reference : (older.at(-1) ?? newer[0]);
  const bearers = listed.length > 0 ? listed : bearer === undefined ? [] : [bearer];
  const newcomers = newer.filter((version) => !bearers.includes(version));
  const each = newcomers.length === 0 ? 0 : Math.min(UNLISTED_SHARE, MAX_UNLISTED_TOTAL / newcomers.length);
  const rest = 1 - each * newcomers.length;
  const total = bearers.reduce((sum, version) => sum + (weightOf.get(version) ?? 1), 0);
  return [
    ...bearers.map((version) => ({
      version,
      share: (rest * (weightOf.get(version) ?? 1)) / total,
      reason: listed.length > 0 ? ('listed' as const) : ('stable' as const),
    })),
    ...newcomers.map((version) => ({ version, share: each, reason: 'unlisted' as const })),
  ];
}

/** The versions that no route lists, by whether they came before or after the one that bears the most. */
function byAge(
  { candidates, entries, stable }: VersionQuestion,
  open: readonly string[],
  weightOf: ReadonlyMap<string, number>,
): { older: string[]; newer: string[]; reference: string } {
  const ages = candidates.map(({ version }) => version);
  const registered = entries.filter(({ version }) => ages.includes(version));
  const oldest = ages.find((version) => weightOf.get(version) !== 0) ?? ages[0] ?? '';
  const reference = heaviest(registered) ?? (stable !== undefined && ages.includes(stable) ? stable : oldest);
  const age = ages.indexOf(reference);
  const unlisted = open.filter((version) => !weightOf.has(version) && version !== reference);
  return {
    older: unlisted.filter((version) => ages.indexOf(version) < age),
    newer: unlisted.filter((version) => ages.indexOf(version) > age),
    reference,
  };
}

function alone(version: string | undefined, reason: VersionShare['reason']): VersionShare[] {
  return version === undefined ? [] : [{ version, share: 1, reason }];
}

/** Whose clock rings first. */
function race(shares: readonly VersionShare[], { key, draw = 0 }: VersionQuestion): VersionShare | null {
  if (shares.length < 2) return shares[0] ?? null;
  const lane = key ?? `draw ${draw}`;
  let first: { share: VersionShare; at: number } | null = null;
  for (const share of shares) {
    const at = -Math.log(unit(`${lane}\u0000${share.version}`)) / share.share;
    if (first === null || at < first.at) first = { share, at };
  }
  return first!.share;
}

/** What is recorded of a sticky key: it says nothing of the key, and another agent's canary falls on other keys. */
export function stickyHash(agentName: string, key: string): string {
  return createHash('sha256').update(`${agentName}\u0000${key}`).digest('hex').slice(0, 32);
}

/** A number strictly within (0, 1): the first 52 bits of a SHA-256, and a half. */
function unit(text: string): number {
  const digest = createHash('sha256').update(text).digest();
  return (digest.readUIntBE(0, 6) * 16 + (digest[6]! >> 4) + 0.5) / 2 ** 52;
}
