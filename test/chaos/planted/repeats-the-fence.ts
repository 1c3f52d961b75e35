/** Planted in workers: every attempt of a run carries the fence of the first. */
import * as calls from '../../../src/protocol/agent-call';

const { agentCall, fenceOf } = calls;

Object.assign(calls as object, {
  agentCall: (parts: Parameters<typeof agentCall>[0]) => ({
    ...agentCall(parts),
    fence: fenceOf(parts.runStartMs, 1),
  }),
});
