import { DEFAULT_MAX_PAYLOAD_BYTES } from '../protocol/payload-ref';
import { ReachError } from '../protocol/reach-error';
import { parseJsonStrict } from '../protocol/strict-json';
import type { AgentCall, JsonObject } from '../protocol/shapes';
import { CallFault } from './agent-errors';

/** Checks that a call has what every handler relies on; the gateway sends nothing less. Throws `agent_rejected`. */
export function checkCall(value: unknown): AgentCall {
  const call = value as Partial<AgentCall> | null;
  const usable =
    isObject(call) && typeof call.ability === 'string' && isObject(call.payload) && typeof call.reach_id === 'string';
  if (usable) return call as AgentCall;
  throw new CallFault(
    new ReachError(
      'agent_rejected',
      'This is no call of Agent-Reach: it needs `ability`, `reach_id` and a `payload` object',
    ),
  );
}

/**
 * A handler's answer as plain JSON. Numbers that JSON cannot hold are refused, not turned into null; so is what is no
 * object or larger than 64 MiB. Throws a {@link CallFault}.
 */
export function toOutput(value: unknown, ability: string): JsonObject {
  const fault = (code: 'agent_protocol_error' | 'agent_response_too_large', text: string) =>
    new CallFault(new ReachError(code, `The handler of \`${ability}\` ${text}`));
  if (!isObject(value))
    throw fault('agent_protocol_error', `must return a JSON object, it returned ${describe(value)}`);
  const text = stringify(value, (problem) => fault('agent_protocol_error', problem));
  if (Buffer.byteLength(text) > DEFAULT_MAX_PAYLOAD_BYTES)
    throw fault(
      'agent_response_too_large',
      `answered more than ${DEFAULT_MAX_PAYLOAD_BYTES} bytes; answer with a reference`,
    );
  try {
    return parseJsonStrict(text, {
      errorCode: 'agent_protocol_error',
      ownCodes: false,
      what: `the answer of \`${ability}\``,
    }) as JsonObject;
  } catch (caught) {
    throw new CallFault(ReachError.from(caught));
  }
}

function stringify(value: object, fault: (problem: string) => Error): string {
  try {
    return JSON.stringify(value, (key, part: unknown) => {
      if (typeof part === 'number' && !Number.isFinite(part)) throw new RangeError(`\`${key}\` is ${part}`);
      return part;
    });
  } catch (caught) {
    throw fault(`returned what JSON cannot hold: ${(caught as Error).message.split('\n')[0]}`);
  }
}

const describe = (value: unknown) => (Array.isArray(value) ? 'an array' : value === null ? 'null' : typeof value);

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
