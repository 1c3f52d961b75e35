import type { Receipt } from '../../protocol/shapes';
import type { ReachResult, ReachView, UnansweredView } from '../../sdk/wire-types';
import type { CliIo } from '../io';
import { jsonText, printable } from '../printable';
import { renderAttempts } from './attempts';
import { renderError } from './error';
import { status } from './status';
import { facts } from './table';
import { agentOf, ago, count, duration } from './text';
import { ReachError } from '../../protocol/reach-error';

/** The agent's answer alone: text as it is but safe to print, anything else as exact JSON. */
export function renderAnswer(result: ReachResult): string {
  const { output } = result;
  const keys = Object.keys(output);
  const [only] = keys;
  const text = keys.length === 1 && only === 'answer' ? output.answer : undefined;
  return typeof text === 'string' ? printable(text) : jsonText(output);
}

/** What surrounds an answer: who, why, how. */
export function renderResultNotes(result: ReachResult, where: { url: string; color: CliIo['color'] }): string {
  const { color, url } = where;
  const how = [
    count(result.attempts, 'attempt'),
    duration(result.duration_ms),
    `confidence ${result.confidence.toFixed(2)}`,
  ];
  if (result.replayed) how.push('replayed');
  if (result.degraded) how.push('degraded');
  const instance = result.instance ? color.dim(` (${result.instance})`) : '';
  return [
    `${color.green('✓')} ${color.bold(agentOf(result.agent_name, result.agent_version))}${instance}  ${how.join(' · ')}`,
    `  ${result.route_reason}`,
    color.dim(`  ${linkOf(url, result.reach_id)}`),
  ].join('\n');
}

/** A receipt: where the message went; the result follows (R5). */
export function renderReceipt(receipt: Receipt, where: { url: string; color: CliIo['color'] }): string {
  const { color, url } = where;
  const pairs: [string, string | undefined][] = [
    ['reach', color.bold(receipt.reach_id)],
    [
      'status',
      `${status(receipt.status, color)} (${receipt.stage.replace('_', ' ')})${receipt.replayed ? ', replayed' : ''}`,
    ],
    ['agent', agentOf(receipt.agent_name, receipt.agent_version)],
    ['why', receipt.route_reason],
    ['expected', expectationOf(receipt)],
    ['expires', `in ${duration(receipt.expires_in_ms)}`],
    ['link', linkOf(url, receipt.reach_id)],
    ['temporal', receipt.links.temporal ?? undefined],
    ['next', `agent-reach get ${receipt.reach_id} --wait 30s`],
  ];
  const warnings = (receipt.warnings ?? []).map(({ message }) => `${color.yellow('!')} ${message}`);
  return [facts(pairs, { color }), ...warnings].join('\n');
}

/** When it is likely to be over: `about 1.2 s after it was accepted, 3.4 s in one case of 20`. */
export function expectationOf({ eta_ms, eta_p95_ms }: Pick<Receipt, 'eta_ms' | 'eta_p95_ms'>): string | undefined {
  if (eta_ms === undefined) return undefined;
  const late = eta_p95_ms === undefined ? '' : `, ${duration(eta_p95_ms)} in one case of 20`;
  return `about ${duration(eta_ms)} after it was accepted${late}`;
}

/** Everything that `get` knows. */
export function renderView(view: ReachView, where: { url: string; color: CliIo['color'] }): string {
  if (view.status === 'completed') return `${renderAnswer(view)}\n\n${renderResultNotes(view, where)}`;
  return renderUnanswered(view, where);
}

function renderUnanswered(view: UnansweredView, { url, color }: { url: string; color: CliIo['color'] }): string {
  const pairs: [string, string | undefined][] = [
    ['reach', color.bold(view.reach_id)],
    ['status', status(view.status, color)],
    ['ability', view.ability],
    ['agent', agentOf(view.agent_name, view.agent_version)],
    ['why', view.route_reason],
    ['accepted', ago(view.accepted_at)],
    ['ended', view.ended_at && ago(view.ended_at)],
    ['link', linkOf(url, view.reach_id)],
    ['temporal', view.links.temporal ?? undefined],
  ];
  const lines = [facts(pairs, { color })];
  if (view.error)
    lines.push('', renderError(ReachError.fromProblem({ ...view.error, attempts: undefined }), color).trimEnd());
  if (view.attempts.length > 0) lines.push('', color.dim('ATTEMPTS'), renderAttempts(view.attempts, color));
  return lines.join('\n');
}

const linkOf = (url: string, reachId: string) => `${url.replace(/\/+$/, '')}/v1/reaches/${encodeURIComponent(reachId)}`;
