/** What the demo prints at the end: for people as a page, for programs as one JSON document. */
import type { Trace } from '../../../src/sdk/client';
import { accuracy } from './accuracy';
import { isRight, runnerUp, scoreOf, type Outcome } from './dispatch';
import { decisionTable, waterfall, type Explained } from './explain';
import type { Links } from './platform';
import { ticketTable, type Canvas } from './table';

/** Everything that a run has shown. */
export interface Report {
  outcomes: Outcome[];
  /** The decision shown in full, and the trace of its reach; absent when nobody answered. */
  explained?: Explained;
  trace?: Trace;
  links: Links;
}

/** The page. */
export function page(report: Report, canvas: Canvas): string {
  const { outcomes, explained, trace, links } = report;
  const { bold, dim } = canvas.colors;
  const lines = [
    ...ticketTable(outcomes, canvas),
    '',
    ...accuracyLines(outcomes, canvas),
    ...failureLines(outcomes, canvas),
  ];
  if (explained) lines.push('', ...decisionTable(explained, canvas));
  if (trace && explained) {
    lines.push(
      '',
      `${bold(`Trace of ${explained.ticket.id}`)} ${dim(`(${trace.duration_ms} ms inside Temporal, read from its event history)`)}`,
    );
    lines.push(...waterfall(trace, canvas));
  }
  lines.push('', ...linkLines(links, explained?.answered.reachId, canvas));
  return `${lines.join('\n')}\n`;
}

function accuracyLines(outcomes: Outcome[], { colors }: Canvas): string[] {
  const parts = Object.entries(accuracy(outcomes)).map(
    ([name, { right, of }]) => `${name} ${paintShare(right, of)(`${right}/${of}`)}`,
  );
  const legend = colors.dim(
    '✓ the expected agent · score by the router · conf. by the agent · ms as the caller waited',
  );
  const retried = outcomes.filter(({ answered }) => (answered?.attempts ?? 1) > 1).length;
  const trouble = retried > 0 ? [colors.yellow(`${retried} needed more than one attempt`)] : [];
  return [`${colors.bold('Right agent')}  ${[...parts, ...trouble].join('   ')}`, legend];

  function paintShare(right: number, of: number): (text: string) => string {
    return right === of ? colors.green : right >= 0.9 * of ? String : colors.red;
  }
}

function failureLines(outcomes: Outcome[], { colors }: Canvas): string[] {
  const failures = outcomes.flatMap(({ ticket, failed }) => (failed ? [{ id: ticket.id, ...failed }] : []));
  if (failures.length === 0) return [];
  const lines = failures.map(({ id, code, detail }) => `  ${id}  ${code}: ${detail}`);
  return ['', colors.red(`${failures.length} not answered`), ...lines];
}

function linkLines({ gateway, docs, temporal }: Links, reachId: string | undefined, { colors }: Canvas): string[] {
  const rows = [
    ['gateway', gateway],
    ['API docs', docs],
    ['Temporal Web UI', temporal],
    ...(reachId ? [['  the reach above', `${temporal}/namespaces/default/workflows/${reachId}`]] : []),
  ];
  return [colors.bold('Links'), ...rows.map(([name, url]) => `  ${name!.padEnd(20)}${colors.cyan(url!)}`)];
}

/** The same for programs: snake_case, scores 0–1, times in ms. */
export function json({ outcomes, explained, trace, links }: Report) {
  return {
    tickets: outcomes.map(ticketJson),
    accuracy: accuracy(outcomes),
    failed: outcomes.filter(({ failed }) => failed).length,
    ...(explained && { decision: { ticket_id: explained.ticket.id, ...explained.route } }),
    ...(trace && { trace }),
    links,
  };
}

function ticketJson(outcome: Outcome) {
  const { ticket, ms, answered, failed } = outcome;
  const second = runnerUp(outcome);
  return {
    ticket_id: ticket.id,
    lang: ticket.lang,
    text: ticket.text,
    expected_agent: ticket.agent ?? null,
    right: isRight(outcome) ?? null,
    ms,
    score: scoreOf(outcome) ?? null,
    runner_up: second ? { agent_name: second.agent, score: second.score } : null,
    ...(answered && {
      reach_id: answered.reachId,
      agent_name: answered.agent,
      route_reason: answered.routeReason,
      confidence: answered.confidence,
      attempts: answered.attempts,
      output: answered.output,
    }),
    ...(failed && {
      error: { code: failed.code, detail: failed.detail, agent_name: failed.agent, reach_id: failed.reachId },
    }),
  };
}
