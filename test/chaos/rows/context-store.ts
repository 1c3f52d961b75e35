import type { Context, ContextOperation, ContextPatched } from '../../../src/protocol/context';
import { ReachError } from '../../../src/protocol/reach-error';
import { checkLinearizable, type Verdict } from '../../context/linearizability/checker';
import { Recorder, type Operation, type Subject } from '../../context/linearizability/history';
import { runWorkload } from '../../context/linearizability/workload';
import type { Act } from '../harness/act';
import { http } from '../harness/http';
import { Random } from '../harness/random';
import { eventually } from '../harness/waiting';

const CLIENTS = 20;
const CONTEXTS = 4;
/** Longest pause between two operations of a client, ms: the reaches beside them need the machine as well. */
const PAUSE_MS = 400;
/** A client waits no longer for an answer; what it asked for may then have happened. */
const PATIENCE_MS = 5_000;
/** So many operations must be answered; a store that only fails is linearizable. Those that fail at once are many: no share. */
const ANSWERED_FLOOR = 30;
/** After the fault somebody gets a write through within this (I4), ms. */
const WRITTEN_AGAIN_MS = 30_000;

/**
 * Clients of the Context Store beside the reaches of a row, from before its fault until after it; `finish` ends them and judges
 * what they were answered (I3). What they ask after `faultIsOver` has to be answered again.
 */
export function contextClients(act: Act): { faultIsOver(): void; finish(): Promise<void> } {
  const recorder = new Recorder();
  const contexts = Array.from({ length: CONTEXTS }, (_, n) => act.named(`context-${n}`));
  const subjects = act.stage.urls.map(gatewayAt);
  let over = false;
  let mendedMs = Number.NEGATIVE_INFINITY;
  const running = runWorkload({
    recorder,
    // Of its own: what the row draws must not depend on how fast contexts are.
    random: new Random(act.options.seed),
    contexts,
    clients: CLIENTS,
    operations: Number.POSITIVE_INFINITY,
    subjectOf: (client) => subjects[client % subjects.length]!,
    pauseMs: PAUSE_MS,
    until: () => over,
  });
  return {
    faultIsOver: () => void (mendedMs = performance.now()),
    async finish() {
      const wroteAgain = () => recorder.operations.some(({ call, output }) => call > mendedMs && isWrite(output));
      act.expect(
        await eventually(wroteAgain, { limitMs: WRITTEN_AGAIN_MS }),
        'no context was written to after the fault',
      );
      over = true;
      await running;
      act.say('looking for an order of what happened to the contexts');
      judge(act, recorder.operations);
    },
  };
}

function isWrite({ kind }: Operation['output']): boolean {
  return kind === 'patched';
}

function judge(act: Act, operations: readonly Operation[]): void {
  const verdict = checkLinearizable(operations);
  const answered = operations.filter(({ output }) => output.kind !== 'unknown').length;
  act.notes.push(
    `contexts: ${operations.length} operations of ${CLIENTS} clients, ${operations.length - answered} without an answer`,
  );
  if (verdict.linearizable !== true)
    act.violations.push(`the Context Store is not linearizable (I3): ${describe(verdict)}`);
  act.expect(
    answered >= ANSWERED_FLOOR && operations.some(({ output }) => isWrite(output)),
    `only ${answered} of ${operations.length} operations on contexts were answered`,
  );
}

function describe(verdict: Exclude<Verdict, { linearizable: true }>): string {
  if (verdict.linearizable === 'undecided') return `undecided after ${verdict.configurations} configurations`;
  const stuck = verdict.stuck.slice(0, 5).map(({ client, input, output }) => JSON.stringify({ client, input, output }));
  return `${verdict.key}: after ${verdict.longest.length} operations none of these can be next: ${stuck.join(' ')}`;
}

/** The store behind a gateway, as any caller reaches it. */
function gatewayAt(url: string): Subject {
  const ask = async <T>(method: 'GET' | 'PATCH' | 'DELETE', contextId: string, body?: unknown): Promise<T> => {
    const answer = await http(method, `${url}/v1/contexts/${contextId}`, { body, limitMs: PATIENCE_MS });
    if (answer === null) throw new ReachError('engine_unavailable', 'no answer');
    if (answer.status >= 300) throw ReachError.fromProblem(answer.body);
    return answer.body as T;
  };
  return {
    get: (contextId) => ask<Context>('GET', contextId),
    patch: (contextId, operations: readonly ContextOperation[]) =>
      ask<ContextPatched>('PATCH', contextId, { operations }),
    async delete(contextId) {
      try {
        await ask('DELETE', contextId);
        return true;
      } catch (caught) {
        if (caught instanceof ReachError && caught.code === 'not_found') return false;
        throw caught;
      }
    },
  };
}
