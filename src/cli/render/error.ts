import type { ReachError } from '../../protocol/reach-error';
import type { CliIo } from '../io';
import { printable } from '../printable';
import { renderAttempts } from './attempts';
import { renderConflicts } from './context';
import { shortMessage, nextCommands, renderDiagnosis } from './diagnosis';
import { renderFindings, saidOnce } from './findings';
import { duration } from './text';

type Colors = CliIo['color'];

/** An error for people, safe to print wherever it came from: code, what, findings by pointer, what is known of the reach, and what to do next. */
export function renderError(error: ReachError, color: Colors, columns?: number): string {
  const { errors = [], diagnosis, extra = {} } = printable({ ...error.options, cause: undefined });
  const message = printable(error.message);
  // Conflicts are findings with more to them, and are told in their place.
  const { headline, ...found } = saidOnce(error.code, shortMessage(message, diagnosis), extra.conflicts ? [] : errors);
  const lines = [`${color.red('✗')} ${color.bold(error.code)}  ${headline}`, ...renderFindings(found, color)];
  if (extra.conflicts) lines.push(indent(renderConflicts(extra.conflicts, { columns: undefined, color })));
  // Indented by the renderer itself, so that its table knows the width it has.
  const why = diagnosis && renderDiagnosis(diagnosis, { color, columns }, message);
  if (why) lines.push(why);
  if (extra.attempts?.length) lines.push(renderAttempts(extra.attempts, color));
  const known = knownOf(extra);
  if (known) lines.push(color.dim(`  ${known}`));
  for (const step of nextSteps(error)) lines.push(`  ${color.dim('→')} ${printable(step)}`);
  return `${lines.join('\n')}\n`;
}

function knownOf(extra: NonNullable<ReachError['options']['extra']>): string {
  const { agent_name: agent, reach_id: reach, trace_id: trace } = extra;
  return [agent && `agent ${agent}`, reach && `reach ${reach}`, trace && `trace ${trace}`].filter(Boolean).join(' · ');
}

function nextSteps(error: ReachError): string[] {
  const { extra = {}, retryAfterMs, diagnosis } = error.options;
  const steps: string[] = [];
  if (extra.reach_id) steps.push(`agent-reach trace ${extra.reach_id}`);
  const comesBack = diagnosis?.reason !== 'never_registered' && error.code !== 'engine_unavailable';
  if (comesBack && error.toProblem().retryable) {
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
