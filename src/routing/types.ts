import type { FieldError } from '../protocol/reach-error';
import { DEFAULT_EXPLORATION, type ExplorationSettings } from './exploration';
import type { Json, JsonObject, ScoreFactors } from '../protocol/shapes';

export type ChoiceStrategy = 'score_based' | 'round_robin' | 'random';

/** A part of the score (R17). */
export type FactorName = keyof ScoreFactors;

/** An explicit rule (R19), tried before scoring: all conditions given must hold. */
export interface RoutingRule {
  ability?: string;
  group?: string;
  metadata?: Record<string, string>;
  /** The payload has this value at this JSON pointer. */
  payload?: { pointer: string; equals: Json };
  /** `name` or `name#version`. */
  agent: string;
}

/** `router.*` of the configuration. Weights are relative: they are scaled so that those in use sum to 1. */
export interface RouterConfig {
  defaultStrategy: ChoiceStrategy;
  /** Used when candidates cannot be scored. */
  fallbackStrategy: ChoiceStrategy;
  enabledFactors: FactorName[];
  weights: Record<FactorName, number>;
  instanceWeights: InstanceWeights;
  rules: RoutingRule[];
  /** Whether somebody else than the winner is tried now and then (R17). */
  exploration: ExplorationSettings;
  /** When an ability that was left open counts as found. */
  openMatch: OpenMatchSettings;
}

/** `router.open_match`: when an ability that a request leaves open (`*`) counts as found. */
export interface OpenMatchSettings {
  /** The least that an ability must fit the text, 0–1; below it is off topic. */
  minFit: number;
  /** The least confidence in the best of them, 0–1; below it several are alike and none is taken. 0: whatever fits is taken. */
  minConfidence: number;
}

/** Weights of R18. */
export interface InstanceWeights {
  load: number;
  latency: number;
  reliability: number;
}

/** The defaults of R17–R19. */
export const DEFAULT_ROUTER_CONFIG: RouterConfig = {
  defaultStrategy: 'score_based',
  fallbackStrategy: 'round_robin',
  enabledFactors: ['semantic_similarity', 'latency_score', 'reliability_score'],
  weights: { semantic_similarity: 0.6, latency_score: 0.2, reliability_score: 0.2 },
  instanceWeights: { load: 0.5, latency: 0.3, reliability: 0.2 },
  rules: [],
  exploration: DEFAULT_EXPLORATION,
  openMatch: { minFit: 0.5, minConfidence: 0 },
};

/** What routing reads of an envelope. At least one of `ability` and `target_agent` is there; ability `*` means any. */
export interface RouteRequest {
  ability?: string;
  /** `name` or `name#version`. */
  target_agent?: string;
  payload: JsonObject;
  /** `payload` is an outline of a large one; what each schema, as JSON text, finds wrong with the whole. */
  findings?: ReadonlyMap<string, FieldError[]>;
  /** The payload is large and kept elsewhere; it was checked when the decision was made that this looks at. */
  payload_ref?: string;
  type: string;
  /** Semver range. */
  version?: string;
  /** Canary group. */
  group: string;
  /** Calls with the same key go to the same version of an agent (R21). Absent: chance decides. */
  sticky_key?: string;
  /** What is recorded of the key, by agent: a replay knows no more (R23). */
  sticky_hash?: (agentName: string) => string | undefined;
  /** `async` is accepted while nobody is ready. */
  mode: 'sync' | 'async';
  metadata: Record<string, string>;
  /** `name#version` of agents that were tried already. */
  exclude?: string[];
  /** `agent/ability` of the calls that this one is nested in (R10). */
  chain?: readonly string[];
}
