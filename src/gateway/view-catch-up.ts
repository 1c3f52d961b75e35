import type { RegistryView } from '../registry';

/** Longest wait for one's own write; a view that is cut off from etcd must not hold up an answer that is true. */
const PATIENCE_MS = 1_000;

/**
 * Resolves as soon as this gateway's view shows what was just written to the registry, so that a caller who
 * registers an agent and reaches it in the next breath finds it. Resolves anyway after a second.
 */
export function whenSeen(view: Pick<RegistryView, 'onChange'>, seen: () => boolean): Promise<void> {
  if (seen()) return Promise.resolve();
  return new Promise((resolve) => {
    const done = () => {
      clearTimeout(patience);
      stop();
      resolve();
    };
    const patience = setTimeout(done, PATIENCE_MS);
    const stop = view.onChange(() => {
      if (seen()) done();
    });
  });
}
