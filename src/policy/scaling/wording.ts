import type { AgentFacts } from './facts';
import { percentiles, type Hint } from './hint';

/** What a hint says to people: one sentence why, and what to do. */
export interface Wording {
  reason: string;
  advice: string[];
}

/** Puts a hint into words, the cause first (R35). */
export function wordingOf(name: string, facts: AgentFacts, hint: Hint): Wording {
  const advice = [...adviceOf(name, facts, hint), ...caveats(facts, hint)];
  return { reason: reasonOf(facts, hint), advice };
}

function reasonOf(facts: AgentFacts, hint: Hint): string {
  const { load, utilisation, capacity } = hint;
  const taken = utilisation === null ? '' : `, ${percent(utilisation)} of ${whole(capacity.servers)}`;
  const each = load.meanServiceMs === null ? '' : ` of ${ms(load.meanServiceMs)} each`;
  const now = `${rate(load.perSec)}${each}${taken}`;
  switch (hint.cause) {
    case 'no_data':
      return facts.instances === 0
        ? `no instance takes work, and nothing was measured lately${waiting(facts)}`
        : 'nothing was measured lately, so what there is stays';
    case 'capacity_shrunk':
      return `${shrunkBy(facts)}; ${facts.instances === 0 ? `nobody carries the ${rate(load.perSec)} that come` : `the rest carries ${now}`}`;
    case 'bulkhead_too_low':
      return `the platform lets ${callsAtOnce(facts.bulkheadLimit)} through and ${hint.bulkheadNeeded} are needed: ${now}`;
    case 'slow_messages':
      return `messages became slow: ${slower(hint)}; ${now}`;
    case 'more_messages':
      return `more messages: ${more(hint)}; ${now}`;
    case 'slow_and_more_messages':
      return `messages became slow and more: ${slower(hint)}; ${more(hint)}; ${now}`;
    case 'undersized':
      return `the load is too much for what there is${hint.trend.arrivals === null ? '' : ', and not new'}: ${now}`;
    case 'idle':
      return `${instancesOf(facts.instances)} for ${rate(load.perSec)}${load.perSec > 0 ? ` of ${ms(load.meanServiceMs)} each` : ''}, even in the busiest five minutes of the last hour`;
    case 'steady':
      return `the load fits what there is: ${now}`;
  }
}

function adviceOf(name: string, facts: AgentFacts, hint: Hint): string[] {
  const { instances, cause, instancesIfFixed, neededServers } = hint;
  const needs = neededServers === null ? 'without one nothing is done' : `the load needs ${callsAtOnce(neededServers)}`;
  const grow =
    instances > facts.instances ? [`Run ${instancesOf(instances)} instead of ${facts.instances}: ${needs}`] : [];
  const mend = `Look first at why ${slowestOf(facts) ?? name} is slow: cache answers that repeat, merge messages that belong together, or fix the agent${instancesIfFixed === null ? '' : `; at its earlier speed ${instancesOf(instancesIfFixed)} would do`}`;
  switch (cause) {
    case 'capacity_shrunk':
      return [
        `Bring back what is out (GET /v1/agents/${name} says why); more of the same does not help`,
        // Where nothing was measured, what is out is all that is known: a number would be a guess.
        ...(neededServers === null ? [] : grow),
      ];
    case 'bulkhead_too_low':
      return [
        `Raise bulkhead.limits.${name} to ${hint.bulkheadNeeded}, or qps in the descriptor: rate × p99 is in flight`,
      ];
    case 'slow_messages':
      return [mend, ...grow.map((advice) => `${advice}, until that is done`)];
    case 'slow_and_more_messages':
      return [mend, ...grow];
    case 'idle':
      return [`Run ${instancesOf(instances)} instead of ${facts.instances}`];
    default:
      return grow;
  }
}

function caveats(facts: AgentFacts, { capacity, trend, cause }: Hint): string[] {
  const notes: string[] = [];
  if (!capacity.isDeclared && facts.instances > 0)
    notes.push(
      'Say max_concurrency (descriptor or instance): without it the limit of the platform stands for the capacity, and the instances that there are stay',
    );
  if (trend.slower && !cause.startsWith('slow'))
    notes.push(
      `Services take ${factor(trend.service)} of what they took in the hour before; see why before it matters`,
    );
  if (facts.pulls) notes.push('This agent pulls its work: the service times contain the wait in its own queue');
  return notes;
}

function shrunkBy({ lostInstances, breakers }: AgentFacts): string {
  const parts = breakers.map(({ ability, detail }) => `the breaker of ${ability} is ${detail}`);
  if (lostInstances > 0) parts.unshift(`${instancesOf(lostInstances)} ${lostInstances === 1 ? 'is' : 'are'} out`);
  return parts.join(', and ');
}

function waiting({ queueDepth }: AgentFacts): string {
  if (queueDepth === 0) return '';
  return queueDepth === 1 ? '; 1 message waits for one' : `; ${queueDepth} messages wait for one`;
}

/** The ability that takes most of the servers' time, where there are several. */
function slowestOf({ abilities }: AgentFacts): string | null {
  if (abilities.length < 2) return null;
  const [first] = abilities.toSorted((a, b) => b.service.sumMs - a.service.sumMs);
  return first?.ability ?? null;
}

function slower({ load, earlier }: Hint): string {
  const [now, before] = [percentiles(load.service), earlier && percentiles(earlier.service)];
  return `p50 ${ms(before?.p50)} → ${ms(now.p50)}, p99 ${ms(before?.p99)} → ${ms(now.p99)}`;
}

function more({ load, earlier }: Hint): string {
  const before = earlier ? Math.max(earlier.arrivals, earlier.calls) / earlier.seconds : 0;
  return `${rate(before)} → ${rate(load.perSec)}`;
}

const factor = (value: number | null) => `${((value ?? 1) * 100).toFixed(0)} %`;
const percent = (share: number) => `${(share * 100).toFixed(0)} %`;
const whole = (servers: number) => callsAtOnce(Math.round(servers));
const callsAtOnce = (n: number) => `${n} call${n === 1 ? '' : 's'} at once`;
const instancesOf = (n: number) => `${n} instance${n === 1 ? '' : 's'}`;
const rate = (perSec: number) => (perSec >= 10 ? `${perSec.toFixed(0)}/s` : `${Number(perSec.toPrecision(2))}/s`);

/** A duration for people. */
function ms(value: number | null | undefined): string {
  if (typeof value !== 'number') return 'unknown';
  if (value < 10) return `${Number(value.toPrecision(2))} ms`;
  return value < 1_000 ? `${value.toFixed(0)} ms` : `${(value / 1_000).toFixed(value < 10_000 ? 1 : 0)} s`;
}
