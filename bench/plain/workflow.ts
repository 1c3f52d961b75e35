import { proxyActivities } from '@temporalio/workflow';
import type { PlainActivities, PlainInput, PlainOutput } from './contract';

const { post } = proxyActivities<PlainActivities>({ startToCloseTimeout: '10s' });

/** What one would write without Agent-Reach: one regular activity that posts to an agent, nothing else. */
export async function plain(input: PlainInput): Promise<PlainOutput> {
  return post(input);
}
