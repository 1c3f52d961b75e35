import type { Diagnosis } from '../../protocol/shapes';
import type { CliIo } from '../io';
import { agentOf, ago } from './text';

/** Why nobody could be chosen, and what is near (R22); lines without a final newline. */
export function renderDiagnosis(diagnosis: Diagnosis, color: CliIo['color']): string {
  const lines = [`${color.yellow(diagnosis.reason.replaceAll('_', ' '))}  ${diagnosis.message}`];
  for (const { name, why } of diagnosis.closest ?? []) lines.push(`  did you mean ${color.bold(name)}? ${color.dim(`(${why})`)}`);
  for (const agent of diagnosis.agents ?? []) {
    const since = agent.since === null ? '' : color.dim(` since ${ago(agent.since)}`);
    lines.push(`  ${agentOf(agent.agent_name, agent.agent_version)}  ${agent.status}${since}  ${agent.detail}`);
  }
  if (diagnosis.available_versions?.length) lines.push(`  versions there are: ${diagnosis.available_versions.join(', ')}`);
  return lines.join('\n');
}
