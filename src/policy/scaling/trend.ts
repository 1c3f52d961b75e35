import { cv2, meanMs, type ServiceProfile } from '../queueing';
import type { EarlierDemand } from './facts';
import type { Load } from './load';

/** Growth under this factor is no cause, however sure it is. */
const MIN_GROWTH = 1.25;
/** Standard errors that a growth must exceed: by chance in 5 of 1000 cases. */
const SIGMAS = 2.6;
/** Fewer earlier services or seconds are no baseline. */
const MIN_EARLIER = 30;
const MIN_EARLIER_SEC = 300;

/** How now compares with the hour before; null where that hour says too little. */
export interface Trend {
  /** Factors: 1 is as before. */
  service: number | null;
  arrivals: number | null;
  /** Whether the growth is large and surely no chance. */
  slower: boolean;
  more: boolean;
}

const UNKNOWN: Trend = { service: null, arrivals: null, slower: false, more: false };

/** Tells slower messages from more of them (R35): the logarithm of each ratio against its standard error. */
export function trendOf(now: Load, earlier: EarlierDemand | null): Trend {
  if (!earlier || earlier.seconds < MIN_EARLIER_SEC) return UNKNOWN;
  const service = serviceGrowth(now, earlier.service);
  const arrivals = arrivalGrowth(now, earlier);
  return {
    service: service && service.factor,
    arrivals: arrivals && arrivals.factor,
    slower: service !== null && isGrowth(service),
    more: arrivals !== null && isGrowth(arrivals),
  };
}

interface Growth {
  factor: number;
  /** Of the factor's logarithm. */
  standardError: number;
}

const isGrowth = ({ factor, standardError }: Growth): boolean =>
  factor >= MIN_GROWTH && Math.log(factor) > SIGMAS * standardError;

function serviceGrowth({ meanServiceMs, serviceCv2, samples }: Load, before: ServiceProfile): Growth | null {
  const mean = meanMs(before);
  if (!meanServiceMs || !mean || before.count < MIN_EARLIER || samples.services === 0) return null;
  const variance = serviceCv2 / samples.services + (cv2(before) ?? 1) / before.count;
  return { factor: meanServiceMs / mean, standardError: Math.sqrt(variance) };
}

function arrivalGrowth({ perSec, arrivalCv2, samples }: Load, earlier: EarlierDemand): Growth | null {
  const before = Math.max(earlier.arrivals, earlier.calls);
  if (before < MIN_EARLIER || samples.arrivals === 0) return null;
  const factor = perSec / (before / earlier.seconds);
  return { factor, standardError: Math.sqrt(arrivalCv2 * (1 / samples.arrivals + 1 / before)) };
}
