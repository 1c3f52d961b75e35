import { isRight, runnerUp, scoreOf, type Outcome } from './dispatch';
import { fit, type Colors } from './text';

const GAP = '  ';
/** What a text column needs to say anything. */
const LEAST_TEXT = 14;
const AGENT_CELLS = 18;
const RUNNER_UP_CELLS = 15;

/** Where the table is drawn. */
export interface Canvas {
  /** Cells in a line. */
  width: number;
  colors: Colors;
}

interface Column {
  title: string;
  width: number;
  align?: 'right';
}

/** One line a ticket: who got it and why, what was answered, how long it took. */
export function ticketTable(outcomes: readonly Outcome[], canvas: Canvas): string[] {
  const columns = layOut(outcomes, canvas.width);
  const header = columns.map(({ title, width, align }) => fit(title, width, align)).join(GAP);
  return [canvas.colors.bold(header.trimEnd()), ...outcomes.map((outcome) => row(outcome, columns, canvas.colors))];
}

function layOut(outcomes: readonly Outcome[], width: number): Column[] {
  const id = Math.min(12, Math.max(6, ...outcomes.map(({ ticket }) => ticket.id.length)));
  const fixed = id + AGENT_CELLS + 5 + RUNNER_UP_CELLS + 5 + 5 + 7 * GAP.length;
  const texts = Math.max(2 * LEAST_TEXT, width - fixed);
  const text = Math.floor(texts * 0.48);
  return [
    { title: 'ticket', width: id },
    { title: 'text', width: text },
    { title: 'agent', width: AGENT_CELLS },
    { title: 'score', width: 5, align: 'right' },
    { title: 'runner-up', width: RUNNER_UP_CELLS },
    { title: 'answer', width: texts - text },
    { title: 'conf.', width: 5, align: 'right' },
    { title: 'ms', width: 5, align: 'right' },
  ];
}

function row(outcome: Outcome, columns: Column[], colors: Colors): string {
  const cells = cellsOf(outcome).map((cell, index) => fit(cell, columns[index]!.width, columns[index]!.align));
  const right = isRight(outcome);
  const agent = right === undefined ? (text: string) => text : right ? colors.green : colors.red;
  const answer = outcome.failed ? colors.red : colors.dim;
  const paint = [colors.bold, String, agent, String, colors.dim, answer, String, colors.dim];
  return cells.map((cell, index) => paint[index]!(cell)).join(GAP);
}

function cellsOf(outcome: Outcome): string[] {
  const { ticket, answered, failed, ms } = outcome;
  const second = runnerUp(outcome);
  const mark = { true: '✓', false: '✗', undefined: '·' }[String(isRight(outcome))] ?? '·';
  return [
    ticket.id,
    ticket.text,
    `${mark} ${answered?.agent ?? failed?.agent ?? 'nobody'}`,
    scoreOf(outcome)?.toFixed(2) ?? '–',
    second ? `${second.agent.replace(/_agent$/, '')} ${second.score.toFixed(2)}` : '–',
    answered?.output.answer ?? `${failed?.code}: ${failed?.detail}`,
    answered?.output.confidence.toFixed(2) ?? '–',
    String(ms),
  ];
}
