import { validatePayload, type JsonSchema } from '../protocol/json-schema';
import { linkOf } from '../protocol/lineage';
import { ReachError, type FieldError } from '../protocol/reach-error';
import type { RouteTable } from '../protocol/route-table';
import type { AgentVersion } from '../protocol/world';
import { selectVersions } from '../protocol/versions';
import type { AbilityIndex, Offer, SharedSchema } from './ability-index';
import type { Admission, Admissions } from './admissions';
import { hasReadyInstance, hasReadyOrQueueing, readinessOf } from './readiness';
import { inScope, type Scope } from './scope';
import type { RouteRequest } from './types';
import { representative } from './versions/choose-version';
import { Splits } from './versions/splits';
import { percent } from './wording';

/** The filters after the name, in their order. A failure is reported for the last one that anybody came to. */
export const STAGES = [
  'message_type',
  'version',
  'schema',
  'tried',
  'ancestor',
  'readiness',
  'breaker',
  'route_weight_zero',
  'superseded',
] as const;
export type Stage = (typeof STAGES)[number];

export interface SieveOptions {
  /** False for a durable hand-over while nobody is ready. */
  mustBeReady: boolean;
  /** Where it must be ready: one that is full of this platform's own calls will do. Default false. */
  mayQueue?: boolean;
  /** The breakers to pass; absent when there are none, or when they do not count. */
  admissions?: Admissions;
  /** The route table; absent when nobody has written a route. */
  routes?: RouteTable;
}

/** What keeps a version from taking a call now, though it fits: others of its agent stand in. */
const NOT_NOW: ReadonlySet<Stage> = new Set<Stage>(['tried', 'readiness', 'breaker']);

/** Filters the offers of one request (R20, R14, R28). What costs is remembered. */
export class Sieve {
  private readonly versionsByAgent = new Map<string, ReadonlySet<string>>();
  private readonly findingsBySchema = new Map<SharedSchema, FieldError[]>();
  private readonly tried: ReadonlySet<string>;
  /** Calls that wait for this one: one of them again would be a loop (R10). */
  private readonly above: ReadonlySet<string> | null;
  /** What routes say of the versions of agents (R21). */
  readonly splits: Splits;
  private readonly bearers = new Map<readonly Offer[], Offer | undefined>();

  constructor(
    private readonly index: AbilityIndex,
    private readonly scope: Scope,
    private readonly request: RouteRequest,
    private readonly options: SieveOptions,
  ) {
    this.tried = new Set(request.exclude);
    this.splits = new Splits({ index, routes: options.routes, scope, request });
    this.above = request.chain && request.chain.length > 0 ? new Set(request.chain) : null;
  }

  fits(offer: Offer): boolean {
    return this.refusal(offer) === null;
  }

  /** The filter that an offer does not pass; null when it fits. */
  refusal(offer: Offer): Stage | null {
    const own = this.ownRefusal(offer);
    if (own || !offer.siblings) return own;
    return this.bearerOf(offer.siblings) === offer ? null : 'superseded';
  }

  /** The versions of an offer's agent that fit the request, usable now or not. */
  family(offer: Offer): { offer: Offer; usable: boolean }[] {
    return (offer.siblings ?? [offer]).flatMap((sibling) => {
      if (!inScope(sibling, this.scope)) return [];
      const stage = this.ownRefusal(sibling);
      return stage === null || NOT_NOW.has(stage) ? [{ offer: sibling, usable: stage === null }] : [];
    });
  }

  /** The version that stands for its agent while agents are compared: the one that bears the most of the calls. */
  private bearerOf(siblings: readonly Offer[]): Offer | undefined {
    if (this.bearers.has(siblings)) return this.bearers.get(siblings);
    const family = this.family(siblings[0]!);
    const version = family.length === 0 ? null : representative(this.splits.question(family));
    const bearer = family.find(({ offer }) => offer.agentVersion === version)?.offer;
    this.bearers.set(siblings, bearer);
    return bearer;
  }

  /** {@link refusal} without regard to other versions of the agent. */
  ownRefusal(offer: Offer): Stage | null {
    const agent = this.index.agentOf(offer);
    if (!agent.descriptor.accepted_message_types.includes(this.request.type)) return 'message_type';
    if (!this.acceptsVersion(offer)) return 'version';
    if (this.findings(offer).length > 0) return 'schema';
    if (this.tried.size > 0 && this.tried.has(`${offer.agentName}#${offer.agentVersion}`)) return 'tried';
    if (this.above?.has(linkOf(offer.agentName, offer.capability.name))) return 'ancestor';
    if (this.options.mustBeReady && !this.isReady(agent)) return 'readiness';
    if (this.admission(offer)?.passes === false) return 'breaker';
    return this.splits.bars(offer) ? 'route_weight_zero' : null;
  }

  /** How an offer meets its breaker; null when that is closed, or when breakers do not count. */
  admission(offer: Offer): Admission | null {
    return this.options.admissions?.of(offer) ?? null;
  }

  /** What the ability's input schema finds wrong with the payload. */
  findings(offer: Offer): FieldError[] {
    const { schema } = offer;
    if (schema.document === undefined || this.request.payload_ref !== undefined) return [];
    let findings = this.findingsBySchema.get(schema);
    if (!findings) {
      findings = this.known(schema.document) ?? validateSafely(schema.document, this.request.payload);
      this.findingsBySchema.set(schema, findings);
    }
    return findings;
  }

  /** What was found out about a payload that is not here; an agent that has come since then is left out. */
  private known(schema: JsonSchema): FieldError[] | undefined {
    const { findings } = this.request;
    return (
      findings &&
      (findings.get(JSON.stringify(schema)) ?? [
        { pointer: '', message: 'is checked against this schema from the next request on' },
      ])
    );
  }

  /** One sentence for people: why this offer did not pass that filter. */
  explain(offer: Offer, stage: Stage): string {
    const agent = this.index.agentOf(offer);
    switch (stage) {
      case 'message_type':
        return `accepts the message types ${agent.descriptor.accepted_message_types.join(', ')}, not "${this.request.type}"`;
      case 'version':
        return this.request.version === undefined
          ? `${offer.agentVersion} is a pre-release; those are taken only when the request names one`
          : `${offer.agentVersion} does not satisfy ${this.request.version}`;
      case 'schema':
        return `its input schema refuses the payload: ${describeFindings(this.findings(offer))}`;
      case 'tried':
        return 'was tried already for this reach';
      case 'ancestor':
        return 'is waiting for this very reach: asking it again would be a loop';
      case 'readiness':
        return readinessOf(agent).detail;
      case 'breaker':
        return heldBack(this.admission(offer));
      case 'route_weight_zero':
        return `its route has weight 0 for the group ${this.request.group}, which means none; raise it with PUT /v1/routes`;
      case 'superseded':
        return 'another version of the same agent takes this';
    }
  }

  private isReady(agent: AgentVersion): boolean {
    return this.options.mayQueue ? hasReadyOrQueueing(agent) : hasReadyInstance(agent);
  }

  private acceptsVersion(offer: Offer): boolean {
    // The common case, one version and any will do, needs no semver.
    if (offer.onlyVersion && this.request.version === undefined) return true;
    let versions = this.versionsByAgent.get(offer.agentName);
    if (!versions) this.versionsByAgent.set(offer.agentName, (versions = this.fittingVersions(offer)));
    return versions.has(offer.agentVersion) || (this.request.version === undefined && this.splits.names(offer));
  }

  private fittingVersions({ agentName }: Offer): ReadonlySet<string> {
    const own = this.index.agent(agentName)!.offers.filter((other) => inScope(other, this.scope));
    const candidates = own.map((other) => ({
      version: other.agentVersion,
      compatible_versions: this.index.agentOf(other).descriptor.compatible_versions,
    }));
    return new Set(selectVersions(candidates, this.request.version).map((candidate) => candidate.version));
  }
}

function heldBack(admission: Admission | null): string {
  const { share = 0, detail = '' } = admission?.gate ?? {};
  const told = share > 0 ? `its breaker lets ${percent(share)} pass, not this` : 'its breaker refuses';
  return detail === '' ? told : `${told}: ${detail}`;
}

/** A schema that cannot be evaluated excludes its own agent, not the others. */
function validateSafely(schema: JsonSchema, payload: RouteRequest['payload']): FieldError[] {
  try {
    return validatePayload(schema, payload);
  } catch (caught) {
    return [{ pointer: '', message: `cannot be checked: ${ReachError.from(caught).message}` }];
  }
}

/** The first findings in one line: `/user_message is required (and 2 more)`. */
export function describeFindings(findings: readonly FieldError[]): string {
  const [first] = findings;
  if (!first) return 'nothing';
  const more = findings.length > 1 ? ` (and ${findings.length - 1} more)` : '';
  return `${first.pointer || 'the payload'} ${first.message}${more}`;
}
