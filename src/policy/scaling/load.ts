import { cv2, meanMs, mixProfiles, type ServiceProfile } from '../queueing';
import type { AbilityDemand, AgentFacts, EarlierDemand } from './facts';

/** A minute counts for itself once it is above the window's rate by so many standard deviations of a Poisson count. */
const BURST_SIGMAS = 3;
/** Irregularity beyond this is a change of level, not of rhythm. */
const MAX_CV2 = 25;
/** Fewer slots say nothing about rhythm. */
const MIN_SLOTS = 12;

/** The load on all servers of an agent's version: every ability comes to the same ones. */
export interface Load {
  /** Offered, per second: the greater of arrivals and calls, so that neither refusals nor retries are lost. */
  perSec: number;
  /** Reaches sent to it per second over the window. */
  arrivalsPerSec: number;
  /** Arrivals and services that this is made of. */
  samples: { arrivals: number; services: number; windowSec: number };
  /** Of the mix, each ability as often as it is asked for. */
  service: ServiceProfile;
  arrivalCv2: number;
  serviceCv2: number;
  meanServiceMs: number | null;
}

/** The load of now. */
export function loadOf({ abilities }: Pick<AgentFacts, 'abilities'>): Load {
  const rates = abilities.map(offeredPerSec);
  const profiles = abilities.map(({ service }) => service);
  const service = mixProfiles(weighted(profiles, rates));
  return {
    perSec: sum(rates),
    arrivalsPerSec: sum(abilities.map(({ arrivalsPerSec }) => arrivalsPerSec)),
    samples: {
      arrivals: sum(abilities.map(({ arrivals }) => arrivals)),
      services: sum(profiles.map(({ count }) => count)),
      windowSec: Math.max(0, ...abilities.map(({ windowSec }) => windowSec)),
    },
    service,
    arrivalCv2: arrivalCv2(totals(abilities.map(({ slots }) => slots))),
    serviceCv2: Math.min(MAX_CV2, cv2(service) ?? 1),
    meanServiceMs: meanMs(service),
  };
}

/** The hour before, all abilities together; null unless every ability that is asked for now was watched then. */
export function earlierOf({ abilities }: Pick<AgentFacts, 'abilities'>): EarlierDemand | null {
  const known = abilities.flatMap(({ earlier }) => earlier ?? []);
  if (known.length === 0) return null;
  return {
    seconds: Math.max(...known.map(({ seconds }) => seconds)),
    arrivals: sum(known.map(({ arrivals }) => arrivals)),
    calls: sum(known.map(({ calls }) => calls)),
    peakPerSec: sum(known.map(({ peakPerSec }) => peakPerSec)),
    service: mixProfiles(known.map(({ service }) => ({ profile: service, weight: 1 }))),
  };
}

/**
 * Per second; the last minute alone where it stands out, less one standard error of its count (√n for Poisson): a minute is little
 * to go by, and what it shows too much would be an instance that is not needed. As the window fills with the new rate, that counts.
 */
export function offeredPerSec({ arrivalsPerSec1m, arrivalsPerSec, callsPerSec }: AbilityDemand): number {
  const surplus = (arrivalsPerSec1m - arrivalsPerSec) * 60;
  const isBurst = surplus > BURST_SIGMAS * Math.sqrt(Math.max(1, arrivalsPerSec * 60));
  const surely = arrivalsPerSec1m - Math.sqrt(arrivalsPerSec1m / 60);
  return Math.max(isBurst ? surely : 0, arrivalsPerSec, callsPerSec);
}

/**
 * Squared coefficient of variation of the times between arrivals, from counts by slot: for renewal processes it is their index of
 * dispersion in the limit (W. Whitt, 1982). From successive differences (J. von Neumann, 1941), so that a slow drift of the
 * rate does not count as irregular; 1, that of Poisson, unless the counts differ from it by more than chance would have it.
 */
export function arrivalCv2(slots: readonly number[]): number {
  const mean = sum(slots) / Math.max(1, slots.length);
  if (slots.length < MIN_SLOTS || mean <= 0) return 1;
  const squares = withoutStep(slots);
  const dispersion = sum(squares) / (2 * squares.length) / mean;
  const byChance = 2 * Math.sqrt(3 / squares.length);
  return Math.abs(dispersion - 1) <= byChance ? 1 : Math.min(MAX_CV2, Math.max(0.1, dispersion));
}

/** Standard errors by which the level must differ on both sides of a step. */
const STEP_SIGMAS = 3;

/**
 * Squared differences of successive counts but for those of a step in the level, which is no irregularity of arrivals though it
 * looks like one for as long as the window holds both levels: an agent whose load doubled would be told to run more instances than
 * the new load needs. The step is where two neighbouring differences (it may come within a slot) are greatest, if the means before and after
 * differ by three standard errors at the dispersion of the rest: a change-point by least squares, with the test of G. C. Chow (1960).
 */
function withoutStep(slots: readonly number[]): number[] {
  const squares = slots.slice(1).map((count, n) => (count - slots[n]!) ** 2);
  const pairs = squares.map((square, n) => square + (squares[n + 1] ?? 0));
  const at = pairs.indexOf(Math.max(...pairs));
  const rest = squares.filter((_, n) => n !== at && n !== at + 1);
  const [before, after] = [slots.slice(0, at + 1), slots.slice(Math.min(at + 2, slots.length - 1))];
  const dispersion = Math.max(1, sum(rest) / (2 * rest.length) / meanOf(slots));
  const error = Math.sqrt(dispersion * (meanOf(before) / before.length + meanOf(after) / after.length));
  return Math.abs(meanOf(after) - meanOf(before)) > STEP_SIGMAS * error ? rest : squares;
}

const meanOf = (counts: readonly number[]): number => sum(counts) / Math.max(1, counts.length);

/** Abilities weigh as they are asked for now, and together as much as was measured of them. */
function weighted(profiles: readonly ServiceProfile[], rates: readonly number[]) {
  const measured = profiles.flatMap((profile, n) => (profile.count > 0 ? [{ profile, perSec: rates[n]! }] : []));
  const [count, perSec] = [sum(measured.map((one) => one.profile.count)), sum(measured.map((one) => one.perSec))];
  const weightOf = (one: (typeof measured)[number]) =>
    perSec > 0 ? ((one.perSec / perSec) * count) / one.profile.count : 1;
  return measured.map((one) => ({ profile: one.profile, weight: weightOf(one) }));
}

function totals(all: readonly (readonly number[])[]): number[] {
  const length = Math.max(0, ...all.map((slots) => slots.length));
  return Array.from({ length }, (_, n) => sum(all.map((slots) => slots[slots.length - length + n] ?? 0)));
}

const sum = (numbers: readonly number[]): number => numbers.reduce((total, one) => total + one, 0);
