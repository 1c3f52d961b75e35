/** What is asked of agents, shared by all processes (R35). */
export { DemandHub, type AgentDemand, type DemandLookup } from './demand-hub';
export type { MeasuredDemand } from './merge-demand';
export type { DemandKey } from './own-demand';
