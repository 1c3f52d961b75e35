/** One routing decision and one trace, laid open. */
import type { Candidate, Trace, TraceHop } from '../../../src/sdk/client';
import { isRight, runnerUp, scoreOf, type Outcome } from './dispatch';
import type { Canvas } from './table';
import { fit } from './text';

const NAME_CELLS = 18;
const FACTOR_CELLS = 17;
/** Name, duration and gaps of a hop's line. */
const HOP_CELLS = 27;
const FACTORS = [
  ['semantic_similarity', 'meaning'],
  ['latency_score', 'latency'],
  ['reliability_score', 'reliability'],
] as const;

/** An outcome worth explaining, and what makes it so. */
export type Explained = Told & { why: string };
type Told = Outcome & Required<Pick<Outcome, 'answered' | 'route'>>;

/** The decision that says most: of a reach that needed a second attempt, else a wrong one, else the closest call. */
export function mostTelling(outcomes: readonly Outcome[]): Explained | undefined {
  const told = outcomes.filter((outcome): outcome is Told => !!outcome.answered && !!outcome.route);
  const troubled = told.find(({ answered }) => answered.attempts > 1);
  if (troubled) return { ...troubled, why: `after ${troubled.answered.attempts} attempts` };
  const [closest] = told.toSorted((a, b) => lead(a) - lead(b));
  const wrong = told.find((outcome) => isRight(outcome) === false);
  if (wrong) return { ...wrong, why: 'not the expected one' };
  return closest && { ...closest, why: 'the closest call of all' };
}

function lead(outcome: Outcome): number {
  return (scoreOf(outcome) ?? 0) - (runnerUp(outcome)?.score ?? 0);
}

/** Every factor of every candidate, as the router weighed them. */
export function decisionTable({ ticket, answered, route, why }: Explained, { colors, width }: Canvas): string[] {
  const titles = FACTORS.map(([name, title]) => fit(`${route.weights[name]}·${title}`, FACTOR_CELLS, 'right')).join('');
  return [
    `${colors.bold(`Why ${ticket.id} went to ${answered.agent}`)} ${colors.dim(`(${why})`)}`,
    `  ${fit(ticket.text, Math.min(width - 2, 100)).trimEnd()}`,
    '',
    colors.dim(`  ${fit('candidate', NAME_CELLS)}  score =${titles}     cosine`),
    ...route.candidates.map((candidate) =>
      candidateLine(candidate, candidate.agent_name === answered.agent ? colors.green : String),
    ),
    ...route.excluded.map(({ agent_name, reason }) =>
      colors.dim(`  ${fit(agent_name, NAME_CELLS)}  excluded: ${reason}`),
    ),
    '',
    `  ${answered.routeReason}.`,
    colors.dim(
      `  Confidence ${answered.confidence.toFixed(2)}: how far the winner stands out. The rows are those of POST /v1/route, a dry run beside the reach.`,
    ),
  ];
}

function candidateLine({ agent_name, score, factors, cosine }: Candidate, paint: (text: string) => string): string {
  const parts = FACTORS.map(([name]) => fit(factors[name].toFixed(3), FACTOR_CELLS, 'right')).join('');
  return paint(
    `  ${fit(agent_name, NAME_CELLS)}  ${score.toFixed(3)}  ${parts}     ${cosine === null ? '–' : cosine.toFixed(3)}`,
  );
}

/** The hops of a reach as bars on one time line. */
export function waterfall(trace: Trace, { colors, width }: Canvas): string[] {
  const cells = Math.max(20, Math.min(60, width - 50));
  const offsetOf = (hop: TraceHop) => Math.max(0, Date.parse(hop.started_at) - Date.parse(trace.started_at));
  const total = Math.max(1, trace.duration_ms, ...trace.hops.map((hop) => offsetOf(hop) + hop.duration_ms));
  return trace.hops.map((hop) => {
    const paint = hop.outcome === 'ok' ? colors.cyan : colors.red;
    const bar = barOf(offsetOf(hop) / total, hop.duration_ms / total, cells);
    const duration = fit(`${Math.round(hop.duration_ms)} ms`, 9, 'right');
    const note = fit(noteOf(hop), Math.max(10, width - cells - HOP_CELLS)).trimEnd();
    return `  ${fit(hop.name, 12)}${duration}  ${paint(bar)}  ${colors.dim(note)}`.trimEnd();
  });
}

/** A share of a line; even the shortest hop can be seen. */
function barOf(from: number, share: number, cells: number): string {
  const start = Math.min(cells - 1, Math.floor(from * cells));
  const length = Math.max(1, Math.min(cells - start, Math.round(share * cells)));
  return `${'·'.repeat(start)}${'█'.repeat(length)}`.padEnd(cells, '·');
}

function noteOf({ outcome, agent_name, attempt, reason }: TraceHop): string {
  const who = agent_name && `${agent_name}${attempt === undefined ? '' : `, attempt ${attempt}`}`;
  return [outcome === 'ok' ? undefined : outcome, who, reason].filter(Boolean).join('; ');
}
