import { heaviest, type ListedVersion, type RouteTable } from '../../protocol/route-table';
import { compareVersionsDescending } from '../../protocol/versions';
import type { AgentVersion } from '../../protocol/world';
import { compareText, type AbilityIndex, type Offer } from '../ability-index';
import type { Scope } from '../scope';
import type { RouteRequest } from '../types';
import { stickyHash, type VersionQuestion } from './choose-version';

/** What the splits of one request are read from. */
export interface SplitSources {
  index: AbilityIndex;
  /** Absent: nobody has written a route. */
  routes: RouteTable | undefined;
  scope: Scope;
  request: Pick<RouteRequest, 'group' | 'version' | 'sticky_key' | 'sticky_hash'>;
}

const NOTHING: readonly ListedVersion[] = Object.freeze([]);

/** The route table as one request meets it (R21): its group's splits, and none for a version that the caller names. */
export class Splits {
  private readonly routes: RouteTable | null;

  constructor(private readonly sources: SplitSources) {
    const { routes, scope } = sources;
    this.routes = scope.version === undefined && routes !== undefined ? routes : null;
  }

  /** Its route has weight 0, which means none, ever. */
  bars(offer: Offer): boolean {
    return this.routes !== null && this.weightOf(offer) === 0;
  }

  /** A route gives it a share: so it is named, be it a pre-release. */
  names(offer: Offer): boolean {
    return this.routes !== null && (this.weightOf(offer) ?? 0) > 0;
  }

  /** What routes list of an offer's agent for its ability. */
  listed({ capability, agentName }: Offer): readonly ListedVersion[] {
    return this.routes?.listed(capability.name, this.sources.request.group, agentName) ?? NOTHING;
  }

  /** The question that {@link chooseVersion} answers, of versions of one agent for one ability; without a draw. */
  question(family: readonly { offer: Offer; usable: boolean }[]): VersionQuestion {
    const { index, request } = this.sources;
    const inOrder = family.toSorted((a, b) => byAge(index.agentOf(a.offer), index.agentOf(b.offer)));
    const { agentName, capability } = family[0]!.offer;
    const entries = this.listed(family[0]!.offer);
    const stable = this.routes?.lastStable(capability.name, request.group, agentName);
    const key = keyOf(agentName, request);
    return {
      entries,
      candidates: inOrder.map(({ offer, usable }) => ({ version: offer.agentVersion, usable })),
      ...(stable !== undefined && heaviest(entries) === null && { stable }),
      ...(request.version !== undefined && { ranged: true }),
      ...(key !== undefined && { key }),
    };
  }

  get group(): string {
    return this.sources.request.group;
  }

  get etag(): string | undefined {
    return this.sources.routes?.etag;
  }

  private weightOf(offer: Offer): number | undefined {
    return this.listed(offer).find(({ version }) => version === offer.agentVersion)?.weight;
  }
}

function keyOf(agentName: string, { sticky_key, sticky_hash }: SplitSources['request']): string | undefined {
  return sticky_key === undefined ? sticky_hash?.(agentName) : stickyHash(agentName, sticky_key);
}

/** Oldest registration first; of two made at the same instant, the lower version. */
export function byAge(a: AgentVersion, b: AgentVersion): number {
  return (
    compareText(a.first_registered_at ?? a.registered_at, b.first_registered_at ?? b.registered_at) ||
    compareVersionsDescending(b.version, a.version)
  );
}
