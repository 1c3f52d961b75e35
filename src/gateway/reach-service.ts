import { WithStartWorkflowOperation, WorkflowExecutionAlreadyStartedError, type Client } from '@temporalio/client';
import type { Payloads } from '../payloads';
import type { Envelope, EnvelopeInput } from '../protocol/envelope';
import type { CanonicalDigest } from '../protocol/identity';
import { ReachError } from '../protocol/reach-error';
import { capabilityOf } from '../protocol/routed-target';
import type { ReachResult, Receipt } from '../protocol/shapes';
import { completeEnvelope, fingerprint, reachIdOf } from '../protocol/validation';
import type { RoutingLog } from '../telemetry/routing-log';
import { ACCEPTED_UPDATE_ID, acceptedUpdate, REACH_WORKFLOW } from '../../workflows/messages';
import type { EgressPolicy } from '../policy/egress';
import { assertCallbackAllowed } from './callbacks/rules';
import type { Arrivals } from './arrivals';
import { openPayload } from './payload-opening';
import { inherit, type Nesting, type ParentCall } from './nesting';
import type { ReachReader } from './reach-reader';
import { ReachRouting, type ReachRoutingOptions } from './reach-routing';
import { memoOf, newReceipt, RUN_TIMEOUT_SLACK_MS, startOptions, type Plan } from './reach-start';
import { receiptOf, resultBody, withDecision, type RunningView } from './reach-view';
import { bounded, unconfirmed } from './temporal-errors';

/** What the service works with. */
export interface ReachServiceOptions extends ReachRoutingOptions {
  client: Client;
  reader: ReachReader;
  tenant: string;
  taskQueue: string;
  log: RoutingLog;
  nesting: Pick<Nesting, 'join'>;
  payloads: Pick<Payloads, 'open' | 'outline' | 'keepIfLarge' | 'hold'>;
  egress: EgressPolicy;
  /** Counts what is asked of agents (R35). */
  arrivals: Pick<Arrivals, 'sent' | 'refused'>;
}

/** One request to reach somebody. `waitMs` 0 means: receipt at once. */
export interface ReachCall {
  input: EnvelopeInput;
  principal: string;
  waitMs: number;
  /** Aborted when the caller has hung up: the reach goes on, the waiting does not. */
  left?: AbortSignal;
  /** 32 hex digits of the caller's W3C trace, or a new one. */
  traceId: string;
  /** The call of an agent that this reach is made for (R10). */
  parent?: ParentCall | null;
  /** Length of the body that the envelope was read from: the payload is no larger by much. */
  bodyBytes?: number;
}

/** What the caller is answered. `problem`: the key was used before, and that reach ended without an answer. */
export type ReachAnswer =
  | { kind: 'result'; reachId: string; body: ReachResult }
  | { kind: 'receipt'; reachId: string; body: Receipt }
  | { kind: 'problem'; reachId: string; error: ReachError };

/** Accepts reaches: routes once, starts the durable workflow, and waits as long as the caller wishes. */
export class ReachService {
  private readonly routing: ReachRouting;

  constructor(private readonly options: ReachServiceOptions) {
    this.routing = new ReachRouting(options);
  }

  /** @throws ReachError: refusals create no workflow; failures of a reach that was waited for carry its problem */
  async accept(sent: ReachCall): Promise<ReachAnswer> {
    assertCallbackAllowed(sent.input, this.options.egress);
    const { call, canonical } = await this.opened(sent);
    const { parent } = call;
    const asked = this.complete(call);
    const envelope = parent ? inherit(asked, call.input, parent) : asked;
    const id = reachIdOf(envelope, this.options.tenant, parent?.inheritance.parent);
    // The next-best agent, asked after the first failed, makes the same nested reaches: it is no other request.
    const digest = fingerprint(parent ? { ...envelope, source_agent: '' } : envelope, canonical);
    let accepted: Pick<Plan, 'routed' | 'estimate'>;
    try {
      accepted = await this.routing.route(envelope, { reachId: id, chain: parent?.inheritance.chain });
    } catch (refusal) {
      if (refusal instanceof ReachError) {
        this.options.log.refused(refusal);
        this.options.arrivals.refused(refusal, envelope);
      }
      return this.replayInsteadOf(refusal, { id, digest, call, keyed: envelope.key_origin !== 'message' });
    }
    this.options.log.decided(accepted.routed.decision, id);
    const nested = parent && (await this.options.nesting.join(parent, id, envelope));
    const plan = { id, envelope: await this.claimed(envelope, call.bodyBytes), ...accepted, digest, ...nested };
    return sent.waitMs > 0 ? this.startAndWait(plan, sent) : this.startAsync(plan, sent);
  }

  /** The call with its payload, wherever that is kept. */
  private async opened(call: ReachCall): Promise<{ call: ReachCall; canonical?: CanonicalDigest }> {
    const { payload_ref } = call.input;
    if (payload_ref === undefined) return { call };
    const { payloads, world } = this.options;
    const { payload, canonical } = await openPayload(payloads, { ...call.input, payload_ref }, world());
    return { call: { ...call, input: { ...call.input, payload } }, canonical };
  }

  /** The envelope as its history has it: without a payload that is large, with a reference to it. */
  private async claimed(envelope: Envelope, sourceBytes?: number): Promise<Envelope> {
    const { payloads } = this.options;
    const { payload_ref, timeout_ms: keepMs } = envelope;
    const ref = payload_ref ?? (await payloads.keepIfLarge(envelope.payload, { sourceBytes, keepMs }));
    if (ref === null) return envelope;
    if (payload_ref !== undefined) await payloads.hold(ref, keepMs);
    return { ...envelope, payload: {}, payload_ref: ref };
  }

  private complete({ input, principal }: ReachCall): Envelope {
    const keyed = input.idempotency_key === undefined && input.ability !== undefined;
    const capability = keyed ? this.keyedCapability(input.ability ?? '') : undefined;
    return completeEnvelope(input, { capability, principal, newMessageId: this.options.newMessageId });
  }

  /** The first version (by name) that offers the ability and says where its key is: the same for every request. */
  private keyedCapability(ability: string) {
    for (const { descriptor } of this.options.world().agents) {
      const capability = capabilityOf(descriptor, ability);
      if (capability?.idempotency_from) return capability;
    }
    return undefined;
  }

  /** A refusal creates nothing and uses up no key; but a key that was used before still answers with its outcome. */
  private async replayInsteadOf(
    refusal: unknown,
    repeat: { id: string; digest: string; call: ReachCall; keyed: boolean },
  ): Promise<ReachAnswer> {
    if (!repeat.keyed) throw refusal;
    if (!(await this.options.reader.exists(repeat.id))) throw refusal;
    return this.follow(repeat, repeat.call);
  }

  private async startAndWait(plan: Plan, call: ReachCall): Promise<ReachAnswer> {
    const { client, reader } = this.options;
    const acceptedAt = new Date();
    try {
      await bounded(client, () =>
        client.workflow.start(REACH_WORKFLOW, {
          ...this.start(plan, call, true),
          workflowIdConflictPolicy: 'FAIL',
          requestEagerStart: true,
        }),
      );
    } catch (caught) {
      if (caught instanceof WorkflowExecutionAlreadyStartedError) return this.follow(plan, call);
      throw unclear(caught);
    }
    await plan.started?.();
    this.options.arrivals.sent(plan.routed.decision);
    const end = await reader.waitForEnd(
      plan.id,
      Math.min(call.waitMs, plan.envelope.timeout_ms + RUN_TIMEOUT_SLACK_MS),
      call.left,
    );
    if (!end) return { kind: 'receipt', reachId: plan.id, body: this.receipt(plan, call, acceptedAt) };
    if (end.status !== 'completed') throw ReachError.fromProblem(withDecision(end.problem, memoOf(plan, call.traceId)));
    const { ability } = plan.routed.decision.chosen;
    const memo = { message_id: plan.envelope.message_id, ability, trace_id: call.traceId };
    return {
      kind: 'result',
      reachId: plan.id,
      body: resultBody(plan.id, memo, { output: end.output, replayed: false }),
    };
  }

  private async startAsync(plan: Plan, call: ReachCall): Promise<ReachAnswer> {
    const { client } = this.options;
    const acceptedAt = new Date();
    const startWorkflowOperation = new WithStartWorkflowOperation(REACH_WORKFLOW, {
      ...this.start(plan, call, false),
      workflowIdConflictPolicy: 'USE_EXISTING',
    });
    try {
      const acceptance = await bounded(client, () =>
        client.workflow.executeUpdateWithStart(acceptedUpdate, {
          updateId: ACCEPTED_UPDATE_ID,
          startWorkflowOperation,
        }),
      );
      if (acceptance.fingerprint !== plan.digest) throw keyReused();
      await plan.started?.();
      if (acceptance.request_id !== plan.routed.decision.decision_id) return await this.follow(plan, { waitMs: 0 });
      this.options.arrivals.sent(plan.routed.decision);
      const receipt = this.receipt(plan, call, acceptedAt);
      const { stage, agent_name, agent_version, route_reason, decision_id } = acceptance;
      return {
        kind: 'receipt',
        reachId: plan.id,
        body: { ...receipt, stage, agent_name, agent_version, route_reason, decision_id },
      };
    } catch (caught) {
      // The reach may be over already: a repeat of its key, or one that ended before the update was answered.
      if (caught instanceof ReachError || !(await this.options.reader.exists(plan.id))) throw unclear(caught);
      return this.follow(plan, { waitMs: 0 });
    }
  }

  private start(plan: Plan, { traceId }: ReachCall, callerWaits: boolean) {
    const { tenant, taskQueue } = this.options;
    return startOptions(plan, { tenant, taskQueue, traceId, callerWaits });
  }

  private receipt(plan: Plan, { traceId }: ReachCall, acceptedAt: Date): Receipt {
    return newReceipt(plan, { acceptedAt, traceId, links: this.options.reader.links(plan.id) });
  }

  /** The key was used before: same body → that reach's outcome or receipt, other body → refused. */
  private async follow(
    { id, digest, routed }: Pick<Plan, 'id' | 'digest'> & Partial<Plan>,
    { waitMs, left }: Pick<ReachCall, 'waitMs' | 'left'>,
  ): Promise<ReachAnswer> {
    const { reader } = this.options;
    const memo = await reader.memo(id);
    if (memo.fingerprint !== digest) throw keyReused();
    const view = await reader.view(id, waitMs, left);
    // A start that was not confirmed in time is found running, and yet it was this request's.
    const replayed = memo.decision_id !== routed?.decision.decision_id;
    if (view.status === 'completed' && 'output' in view)
      return { kind: 'result', reachId: id, body: { ...view, replayed } };
    if ('error' in view && view.error) {
      const error = ReachError.fromProblem(view.error);
      if (!replayed) throw error;
      return { kind: 'problem', reachId: id, error };
    }
    return { kind: 'receipt', reachId: id, body: receiptOf(view as RunningView, memo, replayed) };
  }
}

function keyReused(): ReachError {
  return new ReachError(
    'idempotency_key_reused',
    'This idempotency key was used with another body; use a new key for a new request',
  );
}

const unclear = (caught: unknown) =>
  unconfirmed(caught, {
    doing: 'start the reach',
    said: 'the start: the reach may have been accepted; try again with the same idempotency key',
  });
