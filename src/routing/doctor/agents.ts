/** Whether agents can take work, and as much as they should (R13, R14, R28, R29, R39). Pure. */
import type { BreakerKey, BreakerView } from '../../protocol/reliability';
import type { Descriptor } from '../../protocol/descriptor';
import { orFine, type Finding } from '../../protocol/doctor';
import { HEARTBEAT_INTERVAL_MS } from '../../protocol/limits';
import type { AgentVersion, StatsLookup } from '../../protocol/world';
import { readinessOf } from '../readiness';
import { capped } from './names';

/** R13: nine heartbeats in a row may be lost. */
const WANTED_TTL_SEC = (HEARTBEAT_INTERVAL_MS / 1_000) * 10;

/** Health checks slower than a quarter of the breaker's window (R39). */
export function checkHealthIntervals(descriptors: readonly Descriptor[], breakerWindowSec: number): Finding[] {
  const id = 'health.interval';
  const limit = breakerWindowSec / 4;
  const slow = descriptors.filter(
    ({ health_check }) => health_check !== undefined && health_check.interval_sec > limit,
  );
  const found = slow.map(({ name, version, health_check }): Finding => ({
    id,
    severity: 'warning',
    subject: `${name}#${version}`,
    measured: `health_check.interval_sec is ${health_check!.interval_sec}, the breaker window ${breakerWindowSec} s`,
    why: 'the breaker acts on health that is older than what it judges by',
    fix: `set health_check.interval_sec to ${limit} or less, or breaker.window_sec to ${health_check!.interval_sec * 4} or more`,
    command: `agent-reach agents ${name}`,
  }));
  return orFine(capped(found, id), id, `all within a quarter of the breaker window (${limit} s)`);
}

/** Versions that nobody can call, told by how it came to that. */
export function checkReadiness(agents: readonly AgentVersion[]): Finding[] {
  const id = 'agents.ready';
  const found = agents.flatMap((agent): Finding[] => {
    const { status, since, detail, cause } = readinessOf(agent);
    const subject = `${agent.name}#${agent.version}`;
    const command = `agent-reach agents ${agent.name}`;
    if (status === 'ready' || status === 'busy' || status === 'draining') return [];
    const others = agents.some((other) => other.name === agent.name && other !== agent && readinessOf(other).ready);
    const severity = others ? 'info' : 'warning';
    const pulls = ['worker', 'mq'].includes(agent.descriptor.endpoint?.protocol ?? '');
    const fix = (pulls && cause === 'never_registered' ? START : FIXES[cause]) ?? 'see its instances';
    const told = since === null ? `registered ${agent.registered_at.slice(0, 19)}Z, ${detail}` : detail;
    return [{ id, severity, subject, measured: told, why: 'nothing is routed to it', fix, command }];
  });
  return orFine(capped(found, id), id, `${agents.length} versions of agents have been ready`);
}

/** An agent that pulls has no address, or one that is not its own. */
const START = 'start an instance, which registers itself, or remove the agent';

const FIXES: Readonly<Record<string, string>> = {
  never_registered:
    'start an instance that registers itself, give the descriptor an endpoint.address, or remove the agent',
  expired: 'start an instance, or remove the agent',
  unavailable: 'see what its health check answers, and mend that',
  ejected: 'mend what makes its calls fail; it is let back in by itself',
};

/** A leased instance as the view shows it now. */
export interface LeaseSeen {
  agent: string;
  instance: string;
  /** As registered. */
  ttlSec: number;
}

/** Leases that end with a few lost heartbeats (R13). */
export function checkLeases(leases: readonly LeaseSeen[]): Finding[] {
  const id = 'leases.ttl';
  const found = leases
    .filter(({ ttlSec }) => ttlSec < WANTED_TTL_SEC)
    .map(({ agent, instance, ttlSec }): Finding => ({
      id,
      severity: 'warning',
      subject: `${instance} of ${agent}`,
      measured: `its lease lasts ${ttlSec} s, ${Math.max(0, Math.floor((ttlSec * 1_000) / HEARTBEAT_INTERVAL_MS) - 1)} heartbeats may be lost`,
      why: 'a short pause, such as a long collection of garbage, ends the registration, and the agent is out until it registers again',
      fix: `register with a ttl_sec of ${WANTED_TTL_SEC} or more`,
      command: `agent-reach agents ${agent}`,
    }));
  return orFine(capped(found, id), id, `${leases.length} leases of ${WANTED_TTL_SEC} s or more`);
}

/** An agent's limit and what Little's law asks of it. */
export interface BulkheadSeen {
  agent: string;
  /** Set by hand in `bulkhead.limits`; null: none. */
  byHand: number | null;
  /** `max_concurrency` of all instances together; null: not all say. */
  maxConcurrency: number | null;
  /** Declared calls per second; null: not declared. */
  qps: number | null;
  /** Of the slowest ability, measured; null: nothing was. */
  p99Ms: number | null;
}

/** Limits below qps × p99, the calls in flight at the declared rate (Little's law, R29). */
export function checkBulkheads(seen: readonly BulkheadSeen[]): Finding[] {
  const id = 'bulkheads.size';
  const found = seen.flatMap(({ agent, byHand, maxConcurrency, qps, p99Ms }): Finding[] => {
    const limit = byHand ?? maxConcurrency;
    if (qps === null || p99Ms === null || limit === null) return [];
    const wanted = Math.ceil((qps * p99Ms) / 1_000 - 1e-9);
    if (limit >= wanted) return [];
    const setting = byHand === null ? 'max_concurrency of its instances together' : `bulkhead.limits.${agent}`;
    return [
      {
        id,
        severity: 'warning',
        subject: agent,
        measured: `${limit} calls at once (${setting}); ${qps}/s × p99 ${Math.round(p99Ms)} ms = ${wanted}`,
        why: 'at the declared rate calls are turned away with overloaded although the agent could keep up',
        fix: `raise ${setting} to ${wanted} or more, add instances, or declare a smaller qps`,
        command: `agent-reach agents ${agent}`,
      },
    ];
  });
  const judged = seen.filter(({ qps, p99Ms }) => qps !== null && p99Ms !== null).length;
  return orFine(capped(found, id), id, `${judged} of ${seen.length} agents declare a rate and were measured; all fit`);
}

/** The same from the view: versions of one agent share its bulkhead. */
export function bulkheadsSeen(
  agents: readonly AgentVersion[],
  stats: StatsLookup,
  limits: Readonly<Record<string, number>>,
): BulkheadSeen[] {
  return [...new Set(agents.map(({ name }) => name))].map((name) => {
    const versions = agents.filter((agent) => agent.name === name);
    const rates = versions.map(({ descriptor }) => descriptor.qps ?? null);
    const caps = versions.flatMap(({ instances }) => instances.map(({ max_concurrency }) => max_concurrency));
    const p99s = versions.flatMap(({ version, descriptor }) =>
      descriptor.capabilities.map((ability) => stats.ability(name, version, ability.name)?.p99_ms ?? 0),
    );
    return {
      agent: name,
      byHand: Object.hasOwn(limits, name) ? limits[name]! : null,
      maxConcurrency: caps.length === 0 ? null : sumOrNull(caps),
      qps: sumOrNull(rates),
      p99Ms: Math.max(0, ...p99s) || null,
    };
  });
}

function sumOrNull(numbers: readonly (number | null)[]): number | null {
  return numbers.reduce<number | null>((sum, one) => (sum === null || one === null ? null : sum + one), 0);
}

/** Breakers that hold traffic back now. */
export function checkBreakers(breakers: readonly { key: BreakerKey; view: BreakerView }[]): Finding[] {
  const id = 'breakers.state';
  const found = breakers
    .filter(({ view }) => view.state !== 'closed' || view.override !== undefined)
    .map(({ key, view }): Finding => {
      const held = view.override;
      return {
        id,
        severity: view.state === 'closed' || view.state === 'recovering' ? 'info' : 'warning',
        subject: `${key.ability} of ${key.agentName}#${key.agentVersion}`,
        measured: `${held ? `held ${held.state} by ${held.by}` : view.state.replace('_', ' ')} since ${view.since}${view.reason ? `: ${view.reason}` : ''}`,
        why:
          held?.state === 'closed'
            ? 'it cannot open, whatever fails'
            : `${Math.round(view.share * 100)} % of its traffic passes`,
        fix: held
          ? 'take the word back once its reason is over'
          : 'mend the agent; the breaker probes and recovers by itself',
        command: held ? `agent-reach breakers auto ${key.agentName} ${key.ability}` : 'agent-reach breakers',
      };
    });
  return orFine(capped(found, id), id, 'all are closed');
}
