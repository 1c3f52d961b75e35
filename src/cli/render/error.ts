import type { FieldError, ReachError } from '../../protocol/reach-error';
import type { CliIo } from '../io';
import { printable } from '../printable';
import { renderAttempts } from './attempts';
import { renderConflicts } from './context';
import { shortMessage, nextCommands, renderDiagnosis } from './diagnosis';
import { duration } from './text';

type Colors = CliIo['color'];

/** An error for people, safe to print wherever it came from: code, what, findings by pointer, what is known of the reach, and what to do next. */
export function renderError(error: ReachError, color: Colors, columns?: number): string {
  const { errors = [], diagnosis, extra = {} } = printable({ ...error.options, cause: undefined });
  const message = printable(error.message);
  const lines = [`${color.red('✗')} ${color.bold(error.code)}  ${shortMessage(message, diagnosis)}`];
  if (extra.conflicts) lines.push(indent(renderConflicts(extra.conflicts, { columns: undefined, color })));
  else for (const finding of errors) lines.push(renderFinding(finding, color));
  // Indented by the renderer itself, so that its table knows the width it has.
  const why = diagnosis && renderDiagnosis(diagnosis, { color, columns }, message);
  if (why) lines.push(why);
  if (extra.attempts?.length) lines.push(renderAttempts(extra.attempts, color));
  const known = knownOf(extra);
  if (known) lines.push(color.dim(`  ${known}`));
  for (const step of nextSteps(error)) lines.push(`  ${color.dim('→')} ${printable(step)}`);
  return `${lines.join('\n')}\n`;
}

/** One finding about a document: where, what, and how to mend it. */
export function renderFinding({ pointer, message, fix }: FieldError, color: Colors): string {
  return `  ${color.cyan(pointer || '/')}  ${message}${fix ? color.dim(` – ${fix}`) : ''}`;
}

function knownOf(extra: NonNullable<ReachError['options']['extra']>): string {
  const { agent_name: agent, reach_id: reach, trace_id: trace } = extra;
  return [agent && `agent ${agent}`, reach && `reach ${reach}`, trace && `trace ${trace}`].filter(Boolean).join(' · ');
}

function nextSteps(error: ReachError): string[] {
  const { extra = {}, retryAfterMs, diagnosis } = error.options;
  const steps: string[] = [];
  if (extra.reach_id) steps.push(`agent-reach trace ${extra.reach_id}`);
  if (error.toProblem().retryable && error.code !== 'engine_unavailable') {
    steps.push(
      retryAfterMs === undefined
        ? 'the same request may work later'
        : `the same request may work in ${duration(retryAfterMs)}`,
    );
  }
  if (error.code === 'unauthorized') steps.push('set AGENT_REACH_API_KEY or --api-key');
  // The route table answers the same code, and says itself what to do.
  if (error.code === 'context_conflict' && extra.details?.etag === undefined)
    steps.push('read it again (agent-reach context get), and patch from the versions it has now');
  if (error.code === 'version_exists') steps.push('raise the version, or register with --replace');
  if (diagnosis) steps.push(...nextCommands(diagnosis));
  else if (error.code === 'ability_not_found') steps.push('agent-reach abilities');
  else if (error.code === 'agent_not_found') steps.push('agent-reach agents');
  return steps;
}

const indent = (text: string) => text.replace(/^/gm, '  ');
