import type { ReachStatus } from './shapes';

/** One row of `GET /v1/reaches`. */
export interface ReachSummary {
  reach_id: string;
  status: ReachStatus;
  ability: string | null;
  agent_name: string | null;
  agent_version: string | null;
  source_agent: string | null;
  accepted_at: string;
  ended_at: string | null;
  duration_ms: number | null;
}
