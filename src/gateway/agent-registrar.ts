import type { Descriptor, Endpoint } from '../protocol/descriptor';
import { assertBrokerAllowed, assertUrlAllowed, type EgressPolicy } from '../policy/egress';
import { isTokenEnvAllowed } from '../policy/token-env';
import { ReachError } from '../protocol/reach-error';
import { agentTaskQueue } from '../protocol/worker-wire';
import type { AgentVersionRemoval } from '../protocol/version-removal';
import type { RouteEntry } from '../protocol/route-table';
import type { AgentVersion } from '../protocol/world';
import type {
  BreakerHub,
  DescriptorOutcome,
  HeartbeatRequest,
  Registration,
  RegistrationRequest,
  Registry,
  RegistryView,
} from '../registry';
import { whenSeen } from './view-catch-up';

/** Protocols that this release can call. */
const CALLABLE: ReadonlySet<string> = new Set(['http', 'worker', 'mq']);

/** What the registrar works with. */
export interface AgentRegistrarOptions {
  registry: Registry;
  view: RegistryView;
  egress: EgressPolicy;
  /** Names of variables that descriptors may use as `auth.token_env`; a trailing `*` matches the rest. */
  tokenEnvAllow: readonly string[];
  /** Where agents that run as activity workers find Temporal; null when they must know it themselves. */
  workerEngine: { address: string; namespace: string } | null;
  /** The breakers of a removed agent, or of a removed version, go with it. */
  breakers: Pick<BreakerHub, 'list' | 'removeAgent'>;
}

/** What an instance is answered; `worker` only for agents that pull from Temporal. */
export type RegistrationAnswer = Registration & { worker?: { address: string; namespace: string; task_queue: string } };

/** Protocols whose addresses are URLs, of the agent and of its health check. */
const CALLED_BY_URL: ReadonlySet<string> = new Set<Endpoint['protocol']>(['http', 'a2a', 'mcp']);

/** Routes that a warning names. */
const MAX_PLACES = 10;

/** Registers agents and instances: the rim's own rules (addresses, tokens) before the registry's. */
export class AgentRegistrar {
  constructor(private readonly options: AgentRegistrarOptions) {}

  /** @throws ReachError `callback_url_forbidden`, `token_env_forbidden`, `version_exists`, `name_collision` */
  async register(descriptor: Descriptor, flags: { replace: boolean; dryRun: boolean }): Promise<DescriptorOutcome> {
    this.assertAddresses(descriptor);
    this.assertTokenEnv(descriptor);
    const { registry, view } = this.options;
    const { name, version } = descriptor;
    const answer = await registry.registerDescriptor(descriptor, flags);
    const written = () => this.version(name, version)?.registered_at === answer.registeredAt;
    if (!flags.dryRun) await whenSeen(view, written);
    const protocol = descriptor.endpoint?.protocol;
    if (protocol === undefined || CALLABLE.has(protocol)) return answer;
    return {
      ...answer,
      warnings: [
        ...answer.warnings,
        `this release has no adapter for protocol ${protocol}: reaches to ${name} will fail until one is there`,
      ],
    };
  }

  async remove(name: string): Promise<boolean> {
    const { registry, view, breakers } = this.options;
    const removed = await registry.deleteAgent(name);
    await breakers.removeAgent(name);
    await whenSeen(view, () => view.agent(name).length === 0);
    return removed;
  }

  /** Removes one version. Answers null when there is no such agent. @throws ReachError `version_not_found`, `engine_unavailable` */
  async removeVersion(name: string, version: string): Promise<AgentVersionRemoval | null> {
    const { registry, view, breakers } = this.options;
    const broken = breakers.list().filter(({ key }) => key.agentName === name && key.agentVersion === version);
    const removed = await registry.deleteVersion(name, version);
    if (removed === null) return null;
    await breakers.removeAgent(name, version);
    await whenSeen(view, () => this.version(name, version) === undefined);
    return {
      agent_name: name,
      agent_version: version,
      instances: removed.instances,
      breakers: broken.map(({ key }) => key.ability).sort(),
      versions_left: removed.left,
      warnings: warningsOf(view.world().routes?.entries ?? [], `${name}#${version}`),
    };
  }

  async registerInstance(name: string, instanceId: string, request: RegistrationRequest): Promise<RegistrationAnswer> {
    if (request.host) assertUrlAllowed(request.host, this.options.egress, `instance ${instanceId}`);
    const { registry, view, workerEngine } = this.options;
    const registration = await registry.registerInstance(name, instanceId, request);
    const registered = () =>
      this.version(name, request.version)?.instances.some((instance) => instance.instance_id === instanceId) ?? false;
    await whenSeen(view, registered);
    const agent = this.version(name, request.version);
    if (!workerEngine || agent?.descriptor.endpoint?.protocol !== 'worker') return registration;
    const { version, endpoint } = agent.descriptor;
    return {
      ...registration,
      worker: { ...workerEngine, task_queue: agentTaskQueue({ name, version, taskQueue: endpoint.task_queue }) },
    };
  }

  heartbeat(name: string, instanceId: string, request: HeartbeatRequest) {
    return this.options.registry.heartbeat(name, instanceId, request);
  }

  async deregister(name: string, instanceId: string, epoch: string): Promise<void> {
    await this.options.registry.deregister(name, instanceId, epoch);
  }

  private version(name: string, version: string): AgentVersion | undefined {
    return this.options.view.agent(name).find((agent) => agent.version === version);
  }

  private assertAddresses({ name, endpoint }: Descriptor): void {
    if (endpoint?.protocol === 'mq' && typeof endpoint.address === 'string')
      assertBrokerAllowed(endpoint.address, this.options.egress, `the queue of agent ${name}`);
    if (!endpoint || !CALLED_BY_URL.has(endpoint.protocol) || endpoint.address === undefined) return;
    for (const address of [endpoint.address].flat()) assertUrlAllowed(address, this.options.egress, `agent ${name}`);
  }

  private assertTokenEnv({ auth }: Descriptor): void {
    if (auth.type !== 'static_token' || isTokenEnvAllowed(auth.token_env, this.options.tokenEnvAllow)) return;
    throw new ReachError(
      'token_env_forbidden',
      `The variable ${auth.token_env} may not be used as a token here; the operator can allow it with security.token_env_allow`,
      {
        errors: [
          {
            pointer: '/auth/token_env',
            message: 'is not allowed',
            fix: 'ask the operator to add it to security.token_env_allow',
          },
        ],
      },
    );
  }
}

/** Routes stay, as they do where a whole agent is removed: the version may come again and is then to get what it had. */
function warningsOf(routes: readonly RouteEntry[], target: string): string[] {
  const left = routes.filter(({ to }) => to === target);
  if (left.length === 0) return [];
  const places = [...new Set(left.map(({ ability, from }) => `${ability} (${from})`))];
  const shown = [...places.slice(0, MAX_PLACES), ...(places.length > MAX_PLACES ? ['more'] : [])].join(', ');
  return [
    `the route table still names ${target} for ${shown}; nobody gets calls by these routes now: take them out with PUT /v1/routes, unless the version comes again`,
  ];
}
