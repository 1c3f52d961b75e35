import type { ServiceProfile } from '../queueing';

/** What an ability of an agent's version was asked for and how long that took, over all processes. */
export interface AbilityDemand {
  ability: string;
  /** Reaches per second that were sent to it, refused ones included: over the last minute and over {@link windowSec}. */
  arrivalsPerSec1m: number;
  arrivalsPerSec: number;
  /** Calls per second, retries included, over {@link windowSec}. */
  callsPerSec: number;
  /** What the rates are of, seconds: at most 300, less while nobody has watched for so long. */
  windowSec: number;
  arrivals: number;
  /** Arrivals by slot of equal length, oldest first. */
  slots: readonly number[];
  service: ServiceProfile;
  /** The hour before the window; null while nobody has watched for so long. */
  earlier: EarlierDemand | null;
}

/** What was measured in the hour before the window. */
export interface EarlierDemand {
  seconds: number;
  arrivals: number;
  calls: number;
  /** Of the busiest five minutes, the greater of arrivals and calls per second. */
  peakPerSec: number;
  service: ServiceProfile;
}

/** Everything a hint for one version of an agent is made from. */
export interface AgentFacts {
  /** Instances that take work now, whether or not they have room. */
  instances: number;
  /** Registered instances that take none: ejected, failing their health check, or cut off. */
  lostInstances: number;
  /** Calls at once of all instances; null when an instance does not say. */
  maxConcurrency: number | null;
  /** Calls at once that the platform lets through (R29). */
  bulkheadLimit: number;
  inFlight: number;
  queueDepth: number;
  /** Abilities whose breaker is not closed, and how it stands. */
  breakers: readonly { ability: string; detail: string }[];
  abilities: readonly AbilityDemand[];
  /** Pulls its work: its service times contain the wait in its own queue. */
  pulls: boolean;
}

/** The section `scaling` of the configuration. */
export interface ScalingSettings {
  /** Most of the capacity that may be taken, 0–1. */
  targetUtilisation: number;
  /** What 95 % of messages may wait, ms; null: five times as long as a service takes on average. */
  targetWaitMs: number | null;
}

/** Why an agent's capacity is as it is, most telling first. */
export type ScalingCause =
  | 'no_data'
  | 'capacity_shrunk'
  | 'bulkhead_too_low'
  | 'slow_messages'
  | 'more_messages'
  | 'slow_and_more_messages'
  | 'undersized'
  | 'idle'
  | 'steady';
