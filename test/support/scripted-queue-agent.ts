import type { Api } from './api';
import { descriptorOf, type AgentDraft, type ScriptedAgent } from './scripted-agent';
import { startSdkAgent } from './scripted-worker-agent';

/** Starts an agent that takes its calls from a queue in this Redis, by the SDK's `ReachAgent`, and waits until it is registered. */
export function startQueueAgent(api: Api, draft: AgentDraft, address: string): Promise<ScriptedAgent> {
  return startSdkAgent(api, draft, descriptorOf({ ...draft, endpoint: { address, ...draft.endpoint } }, 'mq'));
}
