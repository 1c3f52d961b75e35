import { WithStartWorkflowOperation, WorkflowExecutionAlreadyStartedError, type Client } from '@temporalio/client';
import type { Payloads } from '../payloads';
import { stickyKeyOf, type Envelope, type EnvelopeInput } from '../protocol/envelope';
import type { CanonicalDigest } from '../protocol/identity';
import { ReachError } from '../protocol/reach-error';
import { capabilityOf, routedTarget, type RoutedTarget } from '../protocol/routed-target';
import type { Decision, ReachResult, Receipt } from '../protocol/shapes';
import { completeEnvelope, fingerprint, reachIdOf } from '../protocol/validation';
import type { World } from '../protocol/world';
import { fallbackFor, type Router, type RouteRequest } from '../routing';
import type { RoutingLog } from '../telemetry/routing-log';
import { ACCEPTED_UPDATE_ID, acceptedUpdate, REACH_WORKFLOW, type Routed } from '../../workflows/messages';
import type { EgressPolicy } from '../policy/egress';
import { assertCallbackAllowed } from './callbacks/rules';
import type { Arrivals } from './arrivals';
import type { Feasibility } from './feasibility';
import { knownFindings, openPayload } from './payload-opening';
import { fallbackDecision, mayStandInFor } from './fallback';
import { inherit, type Nesting, type ParentCall } from './nesting';
import type { ReachReader } from './reach-reader';
import { memoOf, newReceipt, RUN_TIMEOUT_SLACK_MS, startOptions, type Plan } from './reach-start';
import { receiptOf, resultBody, withDecision, type RunningView } from './reach-view';
import { bounded, fromTemporal } from './temporal-errors';

/** What the service works with. */
export interface ReachServiceOptions {
  client: Client;
  reader: ReachReader;
  router: Pick<Router, 'route' | 'stillGood'>;
  world: () => World;
  tenant: string;
  taskQueue: string;
  protocolTimeoutMs: number;
  newMessageId: () => string;
  log: RoutingLog;
  nesting: Pick<Nesting, 'join'>;
  payloads: Pick<Payloads, 'open' | 'outline' | 'keepIfLarge' | 'hold'>;
  egress: EgressPolicy;
  /** Logs the decision for a fixed answer, which no router makes (R30). */
  keepStandIn: (decision: Decision, reachId: string) => void;
  /** Whether the deadline can be met (R25); throws where it cannot and that is to be refused. */
  feasibility: Pick<Feasibility, 'check'>;
  /** Counts what is asked of agents (R35). */
  arrivals: Pick<Arrivals, 'sent' | 'refused'>;
}

/** What a reach is routed for. */
interface RouteOccasion {
  reachId: string;
  /** `agent/ability` of the calls above (R10). */
  chain?: string[];
}

/** One request to reach somebody. `waitMs` 0 means: receipt at once. */
export interface ReachCall {
  input: EnvelopeInput;
  principal: string;
  waitMs: number;
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
  constructor(private readonly options: ReachServiceOptions) {}

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
      accepted = await this.route(envelope, { reachId: id, chain: parent?.inheritance.chain });
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

  private async route(envelope: Envelope, occasion: RouteOccasion): Promise<Pick<Plan, 'routed' | 'estimate'>> {
    try {
      const routed = await this.routeTo(envelope, occasion);
      return { routed, estimate: this.options.feasibility.check(routed, envelope) };
    } catch (refusal) {
      const standIn = refusal instanceof ReachError ? await this.standIn(envelope, refusal, occasion) : null;
      if (standIn) return { routed: standIn };
      throw refusal;
    }
  }

  private async routeTo(envelope: Envelope, { chain, reachId }: RouteOccasion): Promise<Routed> {
    const request = { ...routeRequest(envelope), chain };
    const decision = await this.options.router.route(request, { reachId, tellsCaller: true });
    return {
      decision,
      target: this.targetOf(decision.chosen),
      ready: envelope.mode === 'sync' || this.options.router.stillGood(decision, request),
    };
  }

  private targetOf({ agent_name, agent_version, ability }: Decision['chosen']): RoutedTarget {
    const { agents } = this.options.world();
    const agent = agents.find(({ name, version }) => name === agent_name && version === agent_version);
    if (agent) return routedTarget(agent.descriptor, ability, this.options.protocolTimeoutMs);
    throw new ReachError('no_ready_instance', `${agent_name} was removed a moment ago`, { retryAfterMs: 1_000 });
  }

  /** Nobody can take it now, through no fault of the caller's: the ability's fallback may (R30). */
  private async standIn(envelope: Envelope, refusal: ReachError, occasion: RouteOccasion): Promise<Routed | null> {
    const declared = mayStandInFor(refusal) ? fallbackFor(this.options.world(), routeRequest(envelope)) : undefined;
    if (!declared) return null;
    const { fallback } = declared;
    const because = refusal.code;
    if ('agent' in fallback) {
      const asked = { ...envelope, target_agent: fallback.agent, version: undefined };
      const routed = await this.routeTo(asked, occasion).catch(() => null);
      return routed && { ...routed, stand_in: { because } };
    }
    const decision = fallbackDecision(envelope, { declared, refusal, decisionId: this.options.newMessageId() });
    const target = this.targetOf(decision.chosen);
    this.options.keepStandIn(decision, occasion.reachId);
    return { decision, target, ready: true, stand_in: { because, output: fallback.output } };
  }

  /** A refusal creates nothing and uses up no key; but a key that was used before still answers with its outcome. */
  private async replayInsteadOf(
    refusal: unknown,
    repeat: { id: string; digest: string; call: ReachCall; keyed: boolean },
  ): Promise<ReachAnswer> {
    if (!repeat.keyed) throw refusal;
    if (!(await this.options.reader.exists(repeat.id))) throw refusal;
    return this.follow(repeat, repeat.call.waitMs);
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
      if (caught instanceof WorkflowExecutionAlreadyStartedError) return this.follow(plan, call.waitMs);
      throw unclearStart(caught);
    }
    this.options.arrivals.sent(plan.routed.decision);
    const end = await reader.waitForEnd(
      plan.id,
      Math.min(call.waitMs, plan.envelope.timeout_ms + RUN_TIMEOUT_SLACK_MS),
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
      if (acceptance.request_id !== plan.routed.decision.decision_id) return await this.follow(plan, 0);
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
      if (caught instanceof ReachError || !(await this.options.reader.exists(plan.id))) throw unclearStart(caught);
      return this.follow(plan, 0);
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
    waitMs: number,
  ): Promise<ReachAnswer> {
    const { reader } = this.options;
    const memo = await reader.memo(id);
    if (memo.fingerprint !== digest) throw keyReused();
    const view = await reader.view(id, waitMs);
    // A start that was not confirmed in time is found running, and yet it was this request's.
    const replayed = memo.decision_id !== routed?.decision.decision_id;
    if (view.status === 'completed' && 'output' in view)
      return { kind: 'result', reachId: id, body: { ...view, replayed } };
    if ('error' in view && view.error)
      return { kind: 'problem', reachId: id, error: ReachError.fromProblem(view.error) };
    return { kind: 'receipt', reachId: id, body: receiptOf(view as RunningView, memo, replayed) };
  }
}

/** The part of an envelope that routing reads. */
export function routeRequest(
  envelope: Pick<Envelope, 'payload' | 'type' | 'group' | 'mode' | 'metadata'> & Partial<Envelope>,
): RouteRequest {
  const { ability, target_agent, payload, type, version, group, mode, metadata } = envelope;
  const sticky_key = stickyKeyOf(envelope);
  const request = { ability, target_agent, payload, type, version, group, sticky_key, mode, metadata };
  const findings = knownFindings(payload);
  return findings ? { ...request, findings } : request;
}

function keyReused(): ReachError {
  return new ReachError(
    'idempotency_key_reused',
    'This idempotency key was used with another body; use a new key for a new request',
  );
}

/** A start that may or may not have reached the server: only the same key makes trying again safe. */
function unclearStart(caught: unknown): ReachError {
  const error = fromTemporal(caught, 'start the reach');
  if (error.code !== 'engine_unavailable') return error;
  return new ReachError(
    'engine_unavailable',
    'Temporal did not confirm the start: the reach may have been accepted; try again with the same idempotency key',
    {
      retryAfterMs: 1_000,
      cause: caught,
    },
  );
}
