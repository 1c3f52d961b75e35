import { parsePayloadRef } from '../../protocol/payload-ref';
import type { Problem } from '../../protocol/reach-error';
import type { Decision } from '../../protocol/shapes';
import type { DeadLetter, DeadLetterItem, RedriveReceipt } from '../../sdk/dead-letters';
import type { CliIo } from '../io';
import { jsonText, printable } from '../printable';
import { clipped } from './clipped';
import { status } from './status';
import { facts, table } from './table';
import { agentOf, ago, count, duration, fit, score } from './text';

const DAY_MS = 86_400_000;
const REASON_WIDTH = 60;
const MAX_CANDIDATES = 5;

/** What was done with each, as `--json` prints it. */
export interface ManyOutcome {
  matched: number;
  redriven: RedriveReceipt[];
  /** Refused for good: discarded, or it may have been done and `--accept-repeat` was not given. */
  skipped: { reach_id: string; reason: string }[];
  failed: { reach_id: string; error: Problem }[];
}

/** A table, newest first. */
export function renderDeadLetters(items: readonly DeadLetterItem[], io: CliIo): string {
  const rows = items.map((item) => [
    item.reach_id,
    status(item.status, io.color),
    item.error.code,
    agentOf(item.agent_name, item.agent_version),
    item.source_agent,
    String(item.attempts.length),
    item.redrives.length === 0 ? '-' : String(item.redrives.length),
    ago(item.failed_at),
    expiry(item.expires_at, io.color),
    fit(item.discard ? `discarded: ${item.discard.reason}` : item.error.message, REASON_WIDTH),
  ]);
  const titles = ['REACH', 'STATUS', 'CODE', 'AGENT', 'FROM', 'ATTEMPTS', 'REDRIVES', 'FAILED', 'EXPIRES'];
  return table([...titles, { title: 'WHY', flexible: true }], rows, io);
}

/** The whole story: why, who tried, who decided, what it was about, and what to do next. */
export function renderDeadLetter(letter: DeadLetter, io: CliIo): string {
  const { color } = io;
  const parts = [head(letter, io)];
  const section = (title: string, text: string) => parts.push(`${color.bold(title)}\n${text}`);
  if (letter.attempts.length > 0) section('Attempts', attempts(letter, io));
  section('Decision', decision(letter.decision as unknown as Decision, io));
  if (letter.redrives.length > 0) section('Redrives', redrives(letter, io));
  section('Payload', payloadText(letter.envelope));
  section('What to do', nextSteps(letter).join('\n'));
  return parts.join('\n\n');
}

function payloadText({ payload, payload_ref: ref }: DeadLetter['envelope']): string {
  if (payload !== undefined) return clipped(jsonText(payload));
  const bytes = typeof ref === 'string' ? parsePayloadRef(ref)?.bytes : undefined;
  return `${String(ref)}\n${bytes === undefined ? '' : `${bytes} bytes; `}GET /v1/payloads/${String(ref)} has it`;
}

function head(letter: DeadLetter, io: CliIo): string {
  const { color } = io;
  const { error, discard, current_run: current } = letter;
  const earlier = letter.attempts_before > 0 ? `, ${letter.attempts_before} before it was redriven` : '';
  return facts(
    [
      ['reach', color.bold(letter.reach_id)],
      ['state', letter.state === 'redriven' ? `redriven; now ${status(current.status, color)}` : letter.state],
      ['status', status(letter.status, color)],
      ['why', `${color.red(error.code)} (${error.class})  ${error.message}`],
      ['discarded', discard && `${ago(discard.at)} by ${discard.by}: ${discard.reason}`],
      ['ability', letter.ability],
      ['agent', agentOf(letter.agent_name, letter.agent_version)],
      ['from', letter.source_agent],
      ['semantics', String(letter.envelope.delivery_semantics)],
      ['attempts', `${letter.attempts.length}${earlier}`],
      ['failed', `${letter.failed_at} (${ago(letter.failed_at)})`],
      ['expires', `${letter.expires_at} (${expiry(letter.expires_at, color)})`],
      ['temporal', letter.links.temporal ?? undefined],
    ],
    io,
  );
}

function attempts(letter: DeadLetter, io: CliIo): string {
  const rows = letter.attempts.map((attempt) => [
    String(attempt.n),
    agentOf(attempt.agent_name, attempt.agent_version),
    attempt.instance ?? '-',
    attempt.started_at,
    duration(attempt.duration_ms),
    attempt.received,
    attempt.code ?? 'answered',
    attempt.message ?? '',
  ]);
  const titles = ['#', 'AGENT', 'INSTANCE', 'STARTED', 'TOOK', 'RECEIVED', 'OUTCOME'];
  return table([...titles, { title: 'MESSAGE', flexible: true }], rows, io);
}

function decision(made: Decision, io: CliIo): string {
  const chosen = facts(
    [
      ['why', made.route_reason],
      ['strategy', made.strategy],
      ['confidence', made.confidence.toFixed(2)],
      ['id', made.decision_id],
    ],
    io,
  );
  const rows = made.candidates
    .slice(0, MAX_CANDIDATES)
    .map((candidate) => [agentOf(candidate.agent_name, candidate.agent_version), score(candidate.score)]);
  return rows.length > 1 ? `${chosen}\n${table(['CANDIDATE', 'SCORE'], rows, io)}` : chosen;
}

function redrives(letter: DeadLetter, io: CliIo): string {
  const rows = letter.redrives.map(({ at, by, redriven_run_id, run_id }) => [at, by, redriven_run_id, run_id]);
  return table(['AT', 'BY', 'FAILED RUN', 'NEW RUN'], rows, io);
}

function nextSteps(letter: DeadLetter): string[] {
  const { reach_id: id } = letter;
  if (letter.state === 'redriven') return [`  agent-reach get ${id}`, `  agent-reach trace ${id}`];
  const trace = `  what happened     agent-reach trace ${id}`;
  if (letter.state === 'discarded') return [trace];
  return [
    `  ${advice(letter)}`,
    `  run it again      agent-reach dead-letters redrive ${id}${letter.needs_accept_repeat ? ' --accept-repeat' : ''}`,
    `  with Temporal     temporal workflow reset --workflow-id ${id} --type FirstWorkflowTask --reapply-exclude All --reason 'why'${letter.needs_accept_repeat ? '  # sends it again without asking' : ''}`,
    `  give it up        agent-reach dead-letters discard ${id} --reason 'why'`,
    trace,
  ];
}

function advice({ error, needs_accept_repeat }: DeadLetter): string {
  if (needs_accept_repeat)
    return 'It may be sent only once, and the agent may have done the work: ask its owner before you run it again.';
  switch (error.class) {
    case 'deterministic':
      return 'The same request would fail again: mend the agent, its descriptor or its configuration first.';
    case 'terminal':
      return 'Its time or its worker was lost: see that the agent answers in time, then run it again.';
    default:
      return 'The agent could not do it then: see that it is up (agent-reach agents), then run it again.';
  }
}

/** Of many that went well, so many are named. */
const MAX_SHOWN = 20;

/** What would be done with many: a table, and beneath it what would not be redriven and why. */
export function renderRehearsal(
  would: readonly DeadLetterItem[],
  skipped: readonly { reach_id: string; reason: string }[],
  io: CliIo,
): string {
  const total = would.length + skipped.length;
  if (total === 0) return 'No dead letters.';
  const sum = `${count(total, 'dead letter')}: ${would.length} would be redriven, ${skipped.length} skipped`;
  return [...(would.length > 0 ? [renderDeadLetters(would, io)] : []), ...skipped.map(skippedLine(io)), sum].join('\n');
}

const skippedLine =
  ({ color }: CliIo) =>
  ({ reach_id, reason }: { reach_id: string; reason: string }) =>
    `${color.yellow('-')} ${color.bold(reach_id)}  ${printable(reason)}`;

/** What was done with many. */
export function renderOutcome({ matched, redriven, skipped, failed }: ManyOutcome, io: CliIo): string {
  const { color } = io;
  if (matched === 0) return 'No dead letters.';
  const lines = redriven
    .slice(0, MAX_SHOWN)
    .map(
      ({ reach_id, run_id, replayed }) =>
        `${color.green('✓')} ${color.bold(reach_id)}  ${replayed ? 'was redriven before' : 'redriven'}, run ${run_id}`,
    );
  if (redriven.length > MAX_SHOWN)
    lines.push(color.dim(`  and ${redriven.length - MAX_SHOWN} more; --json lists them all`));
  lines.push(...skipped.map(skippedLine(io)));
  for (const { reach_id, error } of failed)
    lines.push(`${color.red('✗')} ${color.bold(reach_id)}  ${color.red(error.code)} ${printable(error.detail)}`);
  lines.push(
    `${count(matched, 'dead letter')}: ${redriven.length} redriven, ${skipped.length} skipped, ${failed.length} failed`,
  );
  const [first] = redriven;
  if (first) lines.push(color.dim(`next: agent-reach get ${first.reach_id} --wait 30s`));
  return lines.join('\n');
}

/** `in 6 d`; red when it is less than a day. */
function expiry(at: string, color: CliIo['color'], now = new Date()): string {
  const ms = Date.parse(at) - now.getTime();
  const text = Number.isFinite(ms) ? `in ${duration(Math.max(0, ms))}` : at;
  return ms < DAY_MS ? color.red(text) : text;
}
