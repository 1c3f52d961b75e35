/** Routing: who takes a request, and why. Pure; the registry's view and the vectors are brought in from outside. */
export { fallbackFor, type DeclaredFallback } from './fallback';
export {
  Router,
  type DecisionOccasion,
  type DecisionRecorder,
  type PickOptions,
  type RouterDeps,
  type StandingDecision,
} from './router';
export type { Recording } from './replay/recording';
export { SemanticMatcher, type SemanticMatcherDeps } from './meaning/semantic-matcher';
export {
  DEFAULT_ROUTER_CONFIG,
  type ChoiceStrategy,
  type OpenMatchSettings,
  type RouteRequest,
  type RouterConfig,
  type RoutingRule,
} from './types';
export type { Matcher } from '../protocol/matching';
