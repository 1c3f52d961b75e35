import type { InstanceState, ReachStatus } from '../../protocol/shapes';
import type { CliIo } from '../io';

/** A status in the colour of its news. */
export function status(value: ReachStatus | InstanceState['status'], color: CliIo['color']): string {
  switch (value) {
    case 'completed':
    case 'ready':
      return color.green(value);
    case 'accepted':
    case 'running':
    case 'busy':
    case 'draining':
      return color.yellow(value);
    case 'cancelled':
      return color.dim(value);
    default:
      return color.red(value);
  }
}
