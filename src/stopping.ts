/** Stops one part; may be asynchronous. */
export type Stop = () => Promise<void> | void;

/**
 * Runs every stop, one after the other in their order: one that fails keeps none of the others from being run, or engines,
 * sockets and leases would outlive a process for the sake of a single error.
 *
 * @throws the first error, when all are done
 */
export async function stopEach(stops: readonly Stop[]): Promise<void> {
  const errors: unknown[] = [];
  for (const stop of stops) {
    try {
      await stop();
    } catch (error) {
      errors.push(error);
    }
  }
  if (errors.length > 0) throw errors[0];
}
