import { isDeepStrictEqual } from 'node:util';
import { resolvePointer } from '../protocol/json-pointer';
import { splitTarget } from './scope';
import type { RouteRequest, RoutingRule } from './types';

/** A rule that applies to a request; `number` counts from 1, as people do. */
export interface ApplyingRule {
  number: number;
  agent: string;
  version?: string;
}

/** The rules whose conditions all hold (R19), in the order written. */
export function applyingRules(rules: readonly RoutingRule[], request: RouteRequest): ApplyingRule[] {
  return rules.flatMap((rule, position) => {
    if (!applies(rule, request)) return [];
    const [agent, version] = splitTarget(rule.agent);
    return [{ number: position + 1, agent, version: version?.replace(/^v/, '') }];
  });
}

function applies({ ability, group, metadata, payload }: RoutingRule, request: RouteRequest): boolean {
  return (
    (ability === undefined || ability === request.ability) &&
    (group === undefined || group === request.group) &&
    Object.entries(metadata ?? {}).every(([key, value]) => request.metadata[key] === value) &&
    (payload === undefined || isDeepStrictEqual(resolvePointer(request.payload, payload.pointer), payload.equals))
  );
}
