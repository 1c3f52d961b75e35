import type { DecisionFilter } from '../protocol/decision-log';
import type { LoggedDecision } from '../protocol/logged-decision';
import { abilitiesOf, agentOf, instant } from './segment';

/** A filter made ready: the whole test, and a cheap one on the line before it is parsed. */
export interface DecisionTest {
  /** False only if the line cannot fit. */
  mayFit(line: string): boolean;
  fits(decision: LoggedDecision): boolean;
}

/** Makes a filter ready. */
export function testOf(filter: DecisionFilter): DecisionTest {
  const { agent, ability, reach, code } = filter;
  const wanted = [agent?.split('#')[0], ability, reach, code].filter((text) => text !== undefined);
  const quoted = wanted.map((text) => JSON.stringify(text).slice(1, -1));
  const since = filter.since === undefined ? '' : instant(filter.since);
  const until = filter.until === undefined ? null : instant(filter.until);
  return {
    mayFit: (line) => quoted.every((text) => line.includes(text)),
    fits: (decision) =>
      decision.at >= since &&
      (until === null || decision.at < until) &&
      (agent === undefined || isAgent(decision, agent)) &&
      (ability === undefined || abilitiesOf(decision).includes(ability)) &&
      (reach === undefined || decision.reach_id === reach) &&
      (code === undefined || decision.code === code) &&
      hasReason(decision, filter.reason),
  };
}

function isAgent(decision: LoggedDecision, ref: string): boolean {
  const [name, version] = ref.split('#');
  if (agentOf(decision) !== name) return false;
  return version === undefined || decision.chosen?.agent_version === version.replace(/^v/, '');
}

/** The reason of the diagnosis by name, or words of the sentence, whatever their case. */
function hasReason({ diagnosis, route_reason }: LoggedDecision, reason: string | undefined): boolean {
  if (reason === undefined || diagnosis?.reason === reason) return true;
  return route_reason.toLowerCase().includes(reason.toLowerCase());
}
