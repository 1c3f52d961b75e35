import type { Client } from '@temporalio/client';
import type { NativeConnection } from '@temporalio/worker';
import type { Config } from '../../config';
import type { Finding } from '../../protocol/doctor';
import type { BreakerKey, BreakerView } from '../../protocol/reliability';
import type { AgentVersion, World } from '../../protocol/world';
import type { Logger } from '../../registry';
import type { NearAbility } from '../../protocol/shapes';
import type { ConnectionCounts } from './connections';
import type { GroupCensus } from './group-census';

/** One check; it throws when it cannot be made. */
export type Check = () => Promise<Finding[]> | Finding[];

/** What the doctor looks at. */
export interface DoctorOptions {
  config: Config;
  client: Client;
  connection: Pick<NativeConnection, 'operatorService'>;
  /** Search attributes that reaches are started with. */
  searchAttributes: readonly string[];
  view: {
    world(): World;
    agent(name: string): AgentVersion[];
    staleness(): { connected: boolean; lastSyncAgeMs: number };
  };
  router: { searchAbilities(query: string, limit?: number): Promise<NearAbility[]> };
  breakers: { list(): { key: BreakerKey; view: BreakerView }[] };
  vectors: () => 'ready' | 'warming' | 'lexical';
  connections: () => ConnectionCounts;
  groups: Pick<GroupCensus, 'seen'>;
  /** Caller groups of the route table in force. */
  routedGroups: () => readonly string[];
  deadLetters: {
    list(query: unknown): Promise<{ items: { reach_id: string; expires_at: string }[]; next_cursor?: string }>;
  };
  now: () => Date;
  logger: Pick<Logger, 'debug'>;
}
