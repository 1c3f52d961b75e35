import type { Diagnosis } from '../../protocol/shapes';
import type { CliIo } from '../io';
import { agentOf } from './text';

/**
 * Why nobody could be chosen, and what is near (R22); lines without a final newline, maybe none. `said` is what the reader has seen
 * already, and is not said again.
 */
export function renderDiagnosis(diagnosis: Diagnosis, color: CliIo['color'], said = ''): string {
  const lines: string[] = [];
  if (!said.includes(diagnosis.message))
    lines.push(`${color.yellow(diagnosis.reason.replaceAll('_', ' '))}  ${diagnosis.message}`);
  for (const { name, why } of diagnosis.closest ?? []) {
    if (!said.includes(`did you mean ${name} (`))
      lines.push(`  did you mean ${color.bold(name)}? ${color.dim(`(${why})`)}`);
  }
  for (const agent of diagnosis.agents ?? []) {
    lines.push(`  ${agentOf(agent.agent_name, agent.agent_version)}  ${agent.detail || agent.status}`);
  }
  if (diagnosis.available_versions?.length)
    lines.push(`  versions there are: ${diagnosis.available_versions.join(', ')}`);
  return lines.join('\n');
}
