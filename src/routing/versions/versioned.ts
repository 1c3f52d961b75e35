import type { VersioningRecord } from '../../protocol/shapes';
import type { Offer } from '../ability-index';
import type { Chosen } from '../outcome';
import type { Sieve } from '../sieve';
import { percent } from '../wording';
import { chooseVersion, versionShares, type VersionChoice, type VersionQuestion } from './choose-version';

/**
 * The version of the chosen agent that takes the call (R21): score has picked the agent, the route table picks here. An
 * agent with one version that no route lists is left as it is.
 */
export function versioned(outcome: Chosen, random: () => number): Chosen {
  const { sieve } = outcome;
  const bearer = outcome.chosen.offer;
  const family = sieve.family(bearer);
  const single = family.length < 2 && sieve.splits.listed(bearer).length === 0;
  if (single || outcome.pinned) return outcome;
  const question = drawn(sieve.splits.question(family), random);
  const choice = chooseVersion(question);
  const offer = family.find((one) => one.offer.agentVersion === choice?.version)?.offer;
  if (choice === null || offer === undefined) return outcome;
  const versioning = toRecord(sieve, question, choice);
  const notes = [...outcome.notes, noteOf({ sieve, family, question, choice })];
  return { ...replaced(outcome, offer), notes, versioning };
}

/** The version that a rule names, the bearer itself where it names none; null when that cannot take the call. */
export function pinnedBy({ version }: { version?: string }, bearer: Offer, sieve: Sieve): Offer | null {
  if (version === undefined) return bearer;
  const named = sieve.family(bearer).find(({ offer, usable }) => usable && offer.agentVersion === version);
  return named?.offer ?? null;
}

/** The outcome with another version of the chosen agent in its place; the score is its agent's. */
export function replaced(outcome: Chosen, offer: Offer): Chosen {
  const { chosen: bearer, best, refusals } = outcome;
  if (offer === bearer.offer) return outcome;
  const chosen = { ...bearer, offer };
  return {
    ...outcome,
    chosen,
    best: best.map((one) => (one.offer === bearer.offer ? chosen : one)),
    refusals: refusals.map((one) => (one.offer === offer ? { offer: bearer.offer, stage: 'superseded' } : one)),
  };
}

/** Chance is asked once, and only where it decides: no sticky key, and more than one version with a share. */
function drawn(question: VersionQuestion, random: () => number): VersionQuestion {
  const all = question.candidates.map(({ version }) => version);
  if (question.key !== undefined || versionShares(question, all).length < 2) return question;
  return { ...question, draw: random() };
}

function toRecord(sieve: Sieve, question: VersionQuestion, choice: VersionChoice): VersioningRecord {
  const { entries, candidates, key, draw, stable, ranged } = question;
  return {
    group: sieve.splits.group,
    ...(key !== undefined && { key_hash: key }),
    ...(draw !== undefined && { draw }),
    ...(sieve.splits.etag !== undefined && { table_etag: sieve.splits.etag }),
    listed: entries.map(({ version, weight }) => ({ version, weight })),
    candidates: candidates.map(({ version, usable }) => ({ version, usable })),
    ...(stable !== undefined && { stable }),
    ...(ranged && { ranged }),
    share: Math.round(choice.share * 1e6) / 1e6,
    reason: choice.reason,
    ...(choice.insteadOf !== undefined && { instead_of: choice.insteadOf }),
  };
}

interface NoteInput {
  sieve: Sieve;
  family: readonly { offer: Offer; usable: boolean }[];
  question: VersionQuestion;
  choice: VersionChoice;
}

/** The clause of `route_reason` that says why this version. */
function noteOf({ sieve, family, question, choice }: NoteInput): string {
  const { version, reason, share } = choice;
  const where = `of the group ${sieve.splits.group}`;
  const sticky = question.key !== undefined && share < 1 ? ', sticky' : '';
  switch (reason) {
    case 'listed':
      return `version ${version} by its route, ${percent(share)} ${where}${sticky}`;
    case 'unlisted':
      return `version ${version} is new and no route lists it, ${percent(share)} ${where}${sticky}`;
    case 'highest':
      return `version ${version}, the highest in the range asked for`;
    case 'stable':
      return `version ${version}, ${percent(share)} ${where}${sticky}: no route lists another`;
    case 'fallback':
      return `version ${version} stands in for ${choice.insteadOf}, which cannot take it: ${whyNot(sieve, family, choice)}`;
  }
}

function whyNot(sieve: Sieve, family: NoteInput['family'], { insteadOf }: VersionChoice): string {
  const due = family.find(({ offer }) => offer.agentVersion === insteadOf)?.offer;
  const stage = due && sieve.ownRefusal(due);
  return due && stage ? sieve.explain(due, stage) : 'it is gone';
}
