import type { AttemptRecord } from '../../protocol/shapes';
import type { CliIo } from '../io';
import { agentOf, duration } from './text';

/** One line per attempt: who, how long, and how far it got (R33). */
export function renderAttempts(attempts: readonly AttemptRecord[], color: CliIo['color']): string {
  return attempts
    .map((attempt) => {
      const end =
        attempt.code === undefined ? color.green('answered') : `${color.red(attempt.code)} ${attempt.message ?? ''}`;
      const received = attempt.received === 'yes' ? '' : color.dim(` (received: ${attempt.received})`);
      return `  ${attempt.n}. ${agentOf(attempt.agent_name, attempt.agent_version)}${attempt.instance ? color.dim(` ${attempt.instance}`) : ''}  ${duration(attempt.duration_ms)}  ${end}${received}`;
    })
    .join('\n');
}
