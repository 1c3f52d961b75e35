import type { LoggedDecision } from '../../sdk/decisions';
import type { ScoreFactors } from '../../protocol/shapes';
import type { CliIo } from '../io';
import { renderDiagnosis } from './diagnosis';
import { facts, table } from './table';
import { agentOf, ago, fit, percent, score } from './text';

const TITLES: Readonly<Record<keyof ScoreFactors, string>> = {
  semantic_similarity: 'SIMILARITY',
  latency_score: 'LATENCY',
  reliability_score: 'RELIABILITY',
};
const FACTORS = Object.keys(TITLES) as (keyof ScoreFactors)[];
/** Cells of a bar that stands for 1. */
const BAR = 10;
const EIGHTHS = ['', '▏', '▎', '▍', '▌', '▋', '▊', '▉'];

type Place = Pick<CliIo, 'columns' | 'color'>;

/** Decisions as a table, one a line. */
export function renderDecisions(items: readonly LoggedDecision[], io: Place): string {
  const rows = items.map((item) => [
    ago(item.at).replace(' ago', ''),
    item.decision_id,
    item.ability || '-',
    item.chosen ? agentOf(item.chosen.agent_name, item.chosen.agent_version) : io.color.red(item.code ?? 'nobody'),
    item.chosen && item.strategy !== 'fallback' ? score(item.chosen.score) : '-',
    item.route_reason,
  ]);
  return table(['AGE', 'DECISION', 'ABILITY', 'AGENT', 'SCORE', { title: 'WHY', flexible: true }], rows, io);
}

/** One decision: who, why, and what each factor did. */
export function renderDecision(decision: LoggedDecision, io: Place): string {
  const parts = [headline(decision, io), circumstances(decision, io)];
  if (decision.candidates.length > 0) parts.push(candidates(decision, io));
  if (decision.excluded.length > 0) parts.push(exclusions(decision, io));
  const why = decision.diagnosis ? renderDiagnosis(decision.diagnosis, io, decision.route_reason) : '';
  if (why) parts.push(why);
  return parts.join('\n\n');
}

function headline({ chosen, code, route_reason }: LoggedDecision, { color }: Place): string {
  const who = chosen
    ? `${color.green('✓')} ${color.bold(agentOf(chosen.agent_name, chosen.agent_version))}`
    : `${color.red('✗')} ${color.bold(code ?? 'nobody')}`;
  return `${who}\n  ${route_reason}`;
}

function circumstances(decision: LoggedDecision, io: Place): string {
  const { chosen, inputs, versioning, exploration } = decision;
  const drawn = exploration && `drew ${exploration.draw.toFixed(3)} among ${exploration.among} within the band`;
  const version = versioning && `${versioning.reason}, ${percent(versioning.share)} of the group ${versioning.group}`;
  return facts(
    [
      ['decision', decision.decision_id],
      ['at', `${decision.at}  ${io.color.dim(`by ${decision.made_by}`)}`],
      ['reach', decision.reach_id],
      [
        'ability',
        chosen && chosen.ability !== decision.ability ? `${decision.ability} → ${chosen.ability}` : decision.ability,
      ],
      [
        'strategy',
        decision.strategy ? `${decision.strategy}, confidence ${decision.confidence.toFixed(2)}` : undefined,
      ],
      ['explored', exploration && (decision.explored ? `yes, ${drawn}` : `no, ${drawn}`)],
      ['version', version],
      ['breaker', chosen?.admission && `passed as ${chosen.admission}`],
      ['text', inputs?.text && fit(inputs.text, Math.max(20, (io.columns ?? 120) - 14))],
    ],
    io,
  );
}

/** The score as the sum of its parts: each bar is what a factor adds, its weight times its value. */
function candidates(decision: LoggedDecision, io: Place): string {
  const { weights, chosen } = decision;
  const head = [
    'CANDIDATE',
    'SCORE',
    ...FACTORS.map((factor) => `${TITLES[factor]} × ${short(weights[factor])}`),
    'COSINE',
  ];
  const rows = decision.candidates.map((one) => {
    const name = agentOf(one.agent_name, one.agent_version);
    const isChosen =
      one.agent_name === chosen?.agent_name &&
      one.agent_version === chosen.agent_version &&
      one.ability === chosen.ability;
    const parts = FACTORS.map(
      (factor) => `${score(one.factors[factor])} ${bar(weights[factor] * one.factors[factor])}`,
    );
    const cosine = one.cosine === null ? '-' : score(one.cosine);
    return [isChosen ? io.color.green(name) : name, io.color.bold(score(one.score)), ...parts, cosine];
  });
  const formula = FACTORS.map((factor) => `${short(weights[factor])} × ${TITLES[factor].toLowerCase()}`).join(' + ');
  return `${table(head, rows, io)}\n${io.color.dim(`score = ${formula}`)}`;
}

/** `██▌`: a share of 1 as ten cells. */
function bar(share: number): string {
  const eighths = Math.max(0, Math.min(BAR * 8, Math.round(share * BAR * 8)));
  return '█'.repeat(eighths >> 3) + EIGHTHS[eighths & 7]!;
}

function exclusions({ excluded, excluded_count }: LoggedDecision, io: Place): string {
  const rows = excluded.map((one) => [agentOf(one.agent_name, one.agent_version), one.reason]);
  const more = excluded_count - excluded.length;
  const told = table(['EXCLUDED', { title: 'REASON', flexible: true }], rows, io);
  return told + (more > 0 ? io.color.dim(`\nand ${more} more`) : '');
}

const short = (weight: number): string => String(Number(weight.toFixed(3)));
