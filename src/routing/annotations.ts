/** The further clauses of a choice's reason: the circumstances in which it was made. */
import type { World } from '../protocol/world';
import type { ScoredOffer } from './candidates';
import type { Chosen } from './outcome';
import { readinessOf } from './readiness';
import type { Sieve } from './sieve';
import { admissionNote, degradedNote } from './wording';

/** When a choice was made, and whether for real. */
export interface Circumstances {
  world: Pick<World, 'degraded'>;
  dryRun: boolean;
}

/** Adds to the reason what let the chosen one pass its breaker, and that the platform is in degraded mode. */
export function annotated(outcome: Chosen, { world, dryRun }: Circumstances): Chosen {
  const { sieve, chosen, best } = outcome;
  const own = sieve.admission(chosen.offer);
  const notes = [...outcome.notes];
  if (own) notes.push(admissionNote(own.gate));
  if (dryRun) notes.push(...notesOnOthers(best, outcome));
  if (world.degraded) notes.push(degradedNote(world.degraded));
  return { ...outcome, notes };
}

/** A dry run counts as candidates those that might be held back; it says which. */
function notesOnOthers(best: readonly ScoredOffer[], { sieve, chosen }: Chosen): string[] {
  return best.flatMap(({ offer }) => {
    const admission = offer === chosen.offer ? null : sieve.admission(offer);
    return admission ? [`${offer.agentName} ${admissionNote(admission.gate)}`] : [];
  });
}

/**
 * Adds to the reason that the chosen one has no room now.
 * @param eager the sieve that nobody passed: it knows
 */
export function queuesFor(outcome: Chosen, eager: Sieve): Chosen {
  const { offer } = outcome.chosen;
  if (eager.ownRefusal(offer) !== 'readiness') return outcome;
  const note = `nobody has room now (${eager.explain(offer, 'readiness')}), so it queues for the next place`;
  return { ...outcome, notes: [...outcome.notes, note] };
}

/**
 * Adds to the reason of a durable hand-over what it waits for.
 * @param eager the sieve that nobody passed: it knows
 */
export function notReadyYet(outcome: Chosen, eager: Sieve): Chosen {
  const { offer } = outcome.chosen;
  const note =
    eager.ownRefusal(offer) === 'breaker'
      ? `${eager.explain(offer, 'breaker')}, so it waits until it may pass`
      : `not ready now (${readinessOf(outcome.index.agentOf(offer)).detail}), so it waits until it is`;
  return { ...outcome, notes: [...outcome.notes, note] };
}
