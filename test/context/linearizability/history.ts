/**
 * What clients asked of contexts and were answered, with monotonic times: enough to judge a store from outside (I3).
 */
import type { ContextConflict, ContextOperation } from '../../../src/protocol/context';
import { ReachError } from '../../../src/protocol/reach-error';
import type { Json } from '../../../src/protocol/shapes';

/** What was asked. */
export type Input = { kind: 'get' } | { kind: 'patch'; operations: readonly ContextOperation[] } | { kind: 'delete' };

/** What was answered. `unknown`: nothing, or that it may have happened. */
export type Output =
  | { kind: 'fields'; fields: Record<string, { value: Json; version: number }> }
  | { kind: 'absent' }
  | { kind: 'deleted' }
  | { kind: 'patched'; versions: Record<string, number> }
  | { kind: 'conflict'; conflicts: readonly ContextConflict[] }
  | { kind: 'no-list' }
  | { kind: 'unknown' };

/** One operation of a client. */
export interface Operation {
  client: number;
  /** Its place in the recording. */
  op: number;
  /** The context. */
  key: string;
  input: Input;
  call: number;
  /** Infinity when the answer is unknown: it may take effect at any time after the call, or never. */
  return: number;
  output: Output;
}

/** What a recording talks to: the store itself, or a gateway. Failures are ReachErrors. */
export interface Subject {
  get(contextId: string): Promise<{ fields: Record<string, { value: Json; version: number }> }>;
  patch(
    contextId: string,
    operations: readonly ContextOperation[],
  ): Promise<{ fields: Record<string, { version: number }> }>;
  /** False: there was none. */
  delete(contextId: string): Promise<boolean>;
}

/** Asks, and writes down what was asked and answered. Errors that are no outcome of a store are thrown on. */
export class Recorder {
  readonly operations: Operation[] = [];

  constructor(private readonly nowMs: () => number = () => performance.now()) {}

  async run(subject: Subject, asked: { client: number; key: string; input: Input }): Promise<Output> {
    const call = this.nowMs();
    const output = await outcomeOf(subject, asked.key, asked.input);
    const returned = output.kind === 'unknown' ? Number.POSITIVE_INFINITY : this.nowMs();
    // A read without an answer says nothing.
    if (output.kind !== 'unknown' || asked.input.kind !== 'get')
      this.operations.push({ ...asked, op: this.operations.length, call, return: returned, output });
    return output;
  }
}

async function outcomeOf(subject: Subject, key: string, input: Input): Promise<Output> {
  try {
    return await ask(subject, key, input);
  } catch (caught) {
    if (caught instanceof ReachError) return failureOf(caught, input);
    throw caught;
  }
}

async function ask(subject: Subject, key: string, input: Input): Promise<Output> {
  switch (input.kind) {
    case 'get': {
      const { fields } = await subject.get(key);
      const seen = Object.entries(fields).map(([name, { value, version }]) => [name, { value, version }] as const);
      return { kind: 'fields', fields: Object.fromEntries(seen) };
    }
    case 'patch': {
      const { fields } = await subject.patch(key, input.operations);
      return {
        kind: 'patched',
        versions: Object.fromEntries(Object.entries(fields).map(([name, { version }]) => [name, version])),
      };
    }
    case 'delete':
      return { kind: (await subject.delete(key)) ? 'deleted' : 'absent' };
  }
}

function failureOf(error: ReachError, input: Input): Output {
  switch (error.code) {
    case 'context_conflict':
      return { kind: 'conflict', conflicts: error.options.extra?.conflicts ?? [] };
    case 'not_found':
      return { kind: 'absent' };
    case 'invalid_request':
      if (input.kind === 'patch') return { kind: 'no-list' };
      throw error;
    case 'engine_unavailable':
    case 'storage_full':
    case 'overloaded':
      return { kind: 'unknown' };
    default:
      throw error;
  }
}
