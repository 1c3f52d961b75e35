/**
 * `agent-reach/client`: reach agents by ability from any Node program.
 *
 * @example
 * ```ts
 * import { AgentReachClient, ReachError } from 'agent-reach/client';
 *
 * const reach = new AgentReachClient({ url: 'http://127.0.0.1:8080' });
 * try {
 *   const { output, agent_name, route_reason } = await reach.invokeAbility<{ text: string }>('echo', { text: 'hello' });
 *   console.log(output.text, agent_name, route_reason);
 * } catch (error) {
 *   if (error instanceof ReachError) console.error(error.code, error.message);
 * } finally {
 *   await reach.close();
 * }
 * ```
 */
import type { DescriptorDraft } from '../protocol/descriptor';
import type { EnvelopeDraft } from '../protocol/envelope';
import type { Json, JsonObject, Receipt, Trace } from '../protocol/shapes';
import type { ClientOptions, InvokeOptions, ListFilter, RequestOptions, WaitOptions } from './client-types';
import { ContextHandle, ContextsClient } from './contexts';
import { DeadLettersClient } from './dead-letters';
import { DecisionsClient } from './decisions';
import { DoctorClient } from './doctor';
import { GatewayApi, NAMELESS, pathSegment } from './gateway-api';
import { publishCall, type Published, type PublishOptions } from './publish';
import { watchReach, type ReachLifecycleEvent, type WatchOptions } from './reach-events';
import { CallbacksClient } from './callbacks';
import { ReachCalls, reachPath } from './reach-calls';
import { removeAgent, removeAgentVersion, type AgentVersionRemoval } from './removal';
import { RoutesClient } from './routes';
import { scalingHints, stats, type ScalingFilter, type ScalingHint, type Stats } from './scaling';
import { SubscriptionsClient } from './subscriptions';
import { Transport } from './transport';
import type {
  AbilityHit,
  AbilityView,
  AgentView,
  Cancelling,
  Page,
  ReachResult,
  ReachSummary,
  ReachView,
  RegistrationView,
  RouteExplanation,
} from './wire-types';

export { ReachError, type FieldError, type Problem } from '../protocol/reach-error';
export { isTransient, isRetryableByCaller, type ErrorCode } from '../protocol/error-codes';
export type * from '../protocol/shapes';
export type { EnvelopeDraft } from '../protocol/envelope';
export type * from './client-types';
export type * from './contexts';
export type * from './dead-letters';
export type * from './decisions';
export type * from './doctor';
export type * from './publish';
export type { ReachLifecycleEvent, WatchOptions } from './reach-events';
export type * from './subscriptions';
export { verifyCallback, type CallbackHeaders, type VerifiedCallback } from './callback';
export type * from './callbacks';
export type * from './removal';
export type * from './routes';
export type * from './scaling';
export type * from './wire-types';
export type { ReachResult } from './wire-types';

/** Most time for anything but a reach, ms. */
const REQUEST_TIMEOUT_MS = 10_000;

/**
 * A caller's connection to one gateway: typed, pooled, abortable. Lost requests are repeated only where that is safe: a
 * reach carries a `message_id` made once by the client, so the repeat is the same reach and not a second one (R2, R7).
 * Every method throws {@link ReachError}; `engine_unavailable` when the gateway cannot be reached.
 */
export class AgentReachClient {
  readonly #transport: Transport;
  readonly #api: GatewayApi;
  readonly #reaches: ReachCalls;
  /** What could not be delivered: why, and once more (R31). */
  readonly deadLetters: DeadLettersClient;
  /** Why which agent, and what if (R23). */
  readonly decisions: DecisionsClient;
  /** Who gets the events of which topics (R3). */
  readonly subscriptions: SubscriptionsClient;
  /** Who was told of the end of a reach, and once more (R5). */
  readonly callbacks: CallbacksClient;
  /** How the versions of agents share calls (R21). */
  readonly routes: RoutesClient;
  /** What goes wrong quietly (R39). */
  readonly doctor: DoctorClient;
  /** Fields that reaches share (R32). */
  readonly contexts: ContextsClient;

  /** @param transport a way to the gateway that is there already; `options.url` does not matter then */
  constructor(options: ClientOptions, transport?: Transport) {
    this.#transport = transport ?? new Transport(options);
    this.#api = new GatewayApi(this.#transport, REQUEST_TIMEOUT_MS);
    this.#reaches = new ReachCalls(this.#transport, options);
    this.deadLetters = new DeadLettersClient(this.#transport);
    this.decisions = new DecisionsClient(this.#transport);
    this.subscriptions = new SubscriptionsClient(this.#transport);
    this.callbacks = new CallbacksClient(this.#transport);
    this.routes = new RoutesClient(this.#transport);
    this.doctor = new DoctorClient(this.#transport);
    this.contexts = new ContextsClient(this.#transport, options.random);
  }

  /**
   * Asks for an ability and waits for the answer (R5): the receipt comes at once, the result by long polling.
   *
   * @example
   * ```ts
   * const result = await reach.invokeAbility('intent_classify', { text: '我要退款' }, { timeoutMs: 30_000, idempotency_key: 'ticket-42' });
   * ```
   */
  invokeAbility<T = JsonObject>(
    ability: string,
    payload: JsonObject,
    options: InvokeOptions = {},
  ): Promise<ReachResult<T>> {
    const { timeoutMs, signal, onReceipt, cancelOnAbort, ...rest } = options;
    return this.invoke<T>({ ...rest, ability, payload }, { timeoutMs, signal, onReceipt, cancelOnAbort });
  }

  /**
   * Sends a whole envelope in sync mode and waits for the answer.
   *
   * @example
   * ```ts
   * await reach.invoke({ target_agent: 'product_qa#1.2.0', ability: 'answer', payload: { text: 'Is it waterproof?' } });
   * ```
   */
  invoke<T = JsonObject>(draft: EnvelopeDraft, options: WaitOptions = {}): Promise<ReachResult<T>> {
    return this.#reaches.invoke<T>(draft, options);
  }

  /**
   * Hands a message over and returns its receipt at once: it is durable from then on. `mode` defaults to `async`.
   *
   * @example
   * ```ts
   * const { reach_id } = await reach.send({ ability: 'summarise', payload: { url }, idempotency_key: url });
   * const { output } = await reach.wait(reach_id, { timeoutMs: 60_000 });
   * ```
   */
  send(draft: EnvelopeDraft, options: RequestOptions = {}): Promise<Receipt> {
    return this.#reaches.send(draft, options);
  }

  /**
   * Publishes an event to everybody who subscribes to the topic, as a CloudEvent. It is durable from then on; each subscriber
   * gets a reach of its own.
   *
   * @example
   * ```ts
   * await reach.publish('orders.created', { order: 7 }, { source: '/shop', type: 'order.created', id: 'order-7-created' });
   * ```
   */
  publish(topic: string, data: Json, options: PublishOptions = {}): Promise<Published> {
    return this.#api.call(publishCall(topic, data, options));
  }

  /** What is known of a reach now. `waitSec` holds the request until it ends, at most 60 s. */
  get(reachId: string, options: RequestOptions & { waitSec?: number } = {}): Promise<ReachView> {
    return this.#reaches.get(reachId, options);
  }

  /**
   * Waits for the end of a reach: returns its result or throws the error it ended with. Throws `deadline_exceeded` when
   * `timeoutMs` (default: the client's) passes first; the reach goes on.
   */
  wait<T = JsonObject>(reachId: string, options: WaitOptions = {}): Promise<ReachResult<T>> {
    return this.#reaches.wait<T>(reachId, options);
  }

  /** Cancels a reach and what it started; `reach_terminal` when it is over already. */
  cancel(reachId: string, options: RequestOptions = {}): Promise<Cancelling> {
    return this.#reaches.cancel(reachId, options);
  }

  /** One shared context (R32), bound to its id. */
  context(contextId: string): ContextHandle {
    return new ContextHandle(contextId, this.contexts);
  }

  /**
   * What happens to a reach, as it happens, until its end. A lost connection is made again.
   *
   * @example
   * ```ts
   * for await (const { event, data } of client.watch(receipt.reach_id)) console.log(data.at, event);
   * ```
   */
  watch(reachId: string, options: WatchOptions = {}): AsyncGenerator<ReachLifecycleEvent> {
    return watchReach(this.#transport, reachId, options);
  }

  /** What happened to a reach, hop by hop, from the Temporal history (R33). */
  trace(reachId: string, options: RequestOptions = {}): Promise<Trace> {
    return this.#api.get(`${reachPath(reachId)}/trace`, options);
  }

  /** Reaches, newest first, a page at a time; eventually consistent. */
  list(filter: ListFilter = {}, options: RequestOptions = {}): Promise<Page<ReachSummary>> {
    return this.#api.get('/v1/reaches', { query: { ...filter }, ...options });
  }

  /** Who would get this envelope and why; nothing is sent (R16). */
  route(envelope: EnvelopeDraft, options: RequestOptions = {}): Promise<RouteExplanation> {
    return this.#reaches.route(envelope, options);
  }

  /** All agents that the caller may see. */
  agents(options: RequestOptions & { cursor?: string } = {}): Promise<Page<AgentView>> {
    const { cursor, ...rest } = options;
    return this.#api.get('/v1/agents', { query: { cursor }, ...rest });
  }

  /** Everything known about one agent. */
  agent(name: string, options: RequestOptions = {}): Promise<AgentView> {
    return this.#api.get(`/v1/agents/${pathSegment(name, NAMELESS)}`, options);
  }

  /** The catalogue of abilities. */
  abilities(options: RequestOptions & { cursor?: string } = {}): Promise<Page<AbilityView>> {
    const { cursor, ...rest } = options;
    return this.#api.get('/v1/abilities', { query: { cursor }, ...rest });
  }

  /** One ability of the catalogue. */
  ability(name: string, options: RequestOptions = {}): Promise<AbilityView> {
    return this.#api.get(`/v1/abilities/${pathSegment(name, NAMELESS)}`, options);
  }

  /** Abilities by meaning, best first. */
  async searchAbilities(query: string, options: RequestOptions & { limit?: number } = {}): Promise<AbilityHit[]> {
    const { limit, ...rest } = options;
    const body = { query, ...(limit !== undefined && { limit }) };
    const found = await this.#api.call<{ results: AbilityHit[] }>({
      method: 'POST',
      path: '/v1/abilities:search',
      body,
      retry: 'always',
      ...rest,
    });
    return found.results;
  }

  /**
   * Registers a descriptor: YAML or JSON text, or an object. The same content again changes nothing; the same version
   * with other content is refused (`version_exists`) unless `replace` is set. `dryRun` only checks.
   */
  registerDescriptor(
    descriptor: string | DescriptorDraft,
    options: RequestOptions & { dryRun?: boolean; replace?: boolean } = {},
  ): Promise<RegistrationView> {
    const { dryRun, replace, ...rest } = options;
    const query = { dry_run: dryRun || undefined, replace: replace || undefined };
    return this.#api.call({ method: 'POST', path: '/v1/agents', body: descriptor, query, retry: 'always', ...rest });
  }

  /** Takes an agent with all its versions and instances out of the registry; `agent_not_found` when there is none. */
  removeAgent(name: string, options: RequestOptions = {}): Promise<void> {
    return removeAgent(this.#api, name, options);
  }

  /**
   * Takes one version with its instances out of the registry and tells what went; the others go on. `version_not_found` names
   * what there is.
   */
  removeAgentVersion(name: string, version: string, options: RequestOptions = {}): Promise<AgentVersionRemoval> {
    return removeAgentVersion(this.#api, { name, version }, options);
  }

  /** How many instances each agent needs, and why (R35). */
  scalingHints(options: ScalingFilter & RequestOptions = {}): Promise<ScalingHint[]> {
    return scalingHints(this.#transport, options);
  }

  /** What every agent is doing, and all of them together (R34). */
  stats(options: ScalingFilter & RequestOptions = {}): Promise<Stats> {
    return stats(this.#transport, options);
  }

  /** Closes the connections once running requests are done. */
  close(): Promise<void> {
    return this.#transport.close();
  }
}
