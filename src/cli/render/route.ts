import type { Candidate, ScoreFactors } from '../../protocol/shapes';
import type { RouteExplanation } from '../../sdk/wire-types';
import type { CliIo } from '../io';
import { nextCommands, renderDiagnosis, shortMessage } from './diagnosis';
import { renderFindings, saidOnce, type SaidOnce } from './findings';
import { table } from './table';
import { agentOf, duration, score } from './text';

const FACTOR_TITLES: Readonly<Record<keyof ScoreFactors, string>> = {
  semantic_similarity: 'SIMILARITY',
  latency_score: 'LATENCY',
  reliability_score: 'RELIABILITY',
};
const FACTORS = Object.keys(FACTOR_TITLES) as (keyof ScoreFactors)[];

/** Why this agent, or why nobody: candidates with every factor, exclusions with reasons, the diagnosis (R16, R17, R22). */
export function renderRoute(route: RouteExplanation, io: CliIo): string {
  const { color } = io;
  const short = shortMessage(route.route_reason, route.diagnosis);
  const said = saidOnce(route.code ?? '', short, route.errors ?? []);
  const parts = [headline(route, said, color)];
  if (route.candidates.length > 0) parts.push(candidates(route, io));
  const told = route.diagnosis?.agents?.length ?? 0;
  if (route.excluded.length > 0 && told === 0) parts.push(exclusions(route, io));
  const why = route.diagnosis && renderDiagnosis(route.diagnosis, io, route.route_reason);
  if (why) parts.push(why);
  const findings = renderFindings(said, color);
  if (findings.length > 0) parts.push(findings.join('\n'));
  const steps = stepsAfter(route).map((step) => `  ${color.dim('→')} ${step}`);
  if (steps.length > 0) parts.push(steps.join('\n'));
  return parts.join('\n\n');
}

/** What to type next where nobody fits. */
function stepsAfter({ diagnosis }: RouteExplanation): string[] {
  if (!diagnosis) return [];
  const { retry_after_ms: waitMs } = diagnosis;
  const again = waitMs === undefined ? [] : [`the same request may work in ${duration(waitMs)}`];
  return [...again, ...nextCommands(diagnosis)];
}

function headline(route: RouteExplanation, said: SaidOnce, color: CliIo['color']): string {
  if (route.agent_name === null) return `${color.red('✗')} ${color.bold(route.code ?? 'nobody')}  ${said.headline}`;
  const how = [route.strategy, `confidence ${route.confidence.toFixed(2)}`, `ability ${route.ability}`]
    .filter(Boolean)
    .join(' · ');
  return `${color.green('✓')} ${color.bold(agentOf(route.agent_name, route.agent_version))}  ${color.dim(how)}\n  ${route.route_reason}`;
}

function candidates(route: RouteExplanation, io: CliIo): string {
  const formula = FACTORS.map(
    (factor) => `${Number(route.weights[factor].toFixed(3))} × ${FACTOR_TITLES[factor].toLowerCase()}`,
  ).join(' + ');
  const head = [
    'CANDIDATE',
    'ABILITY',
    'SCORE',
    ...FACTORS.map((factor) => FACTOR_TITLES[factor]),
    'COSINE',
    'INSTANCES',
  ];
  const rows = route.candidates.map((candidate) => row(candidate, route, io.color));
  return `${table(head, rows, io)}\n${io.color.dim(`score = ${formula}`)}`;
}

function row(candidate: Candidate, route: RouteExplanation, color: CliIo['color']): string[] {
  const chosen =
    candidate.agent_name === route.agent_name &&
    candidate.agent_version === route.agent_version &&
    candidate.ability === route.ability;
  const name = agentOf(candidate.agent_name, candidate.agent_version);
  return [
    chosen ? color.green(name) : name,
    candidate.ability,
    color.bold(score(candidate.score)),
    ...FACTORS.map((factor) => score(candidate.factors[factor])),
    candidate.cosine === null ? '-' : score(candidate.cosine),
    candidate.instances.map((instance) => instance.instance_id).join(', ') || '-',
  ];
}

function exclusions(route: RouteExplanation, io: CliIo): string {
  const rows = route.excluded.map((one) => [agentOf(one.agent_name, one.agent_version), one.reason]);
  const more = route.excluded_count - route.excluded.length;
  return (
    table(['EXCLUDED', { title: 'REASON', flexible: true }], rows, io) +
    (more > 0 ? io.color.dim(`\nand ${more} more`) : '')
  );
}
