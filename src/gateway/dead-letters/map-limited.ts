/** Runs `run` for every item, at most `limit` at once; answers in the order of the items. The first failure ends it. */
export async function mapLimited<T, R>(items: readonly T[], limit: number, run: (item: T) => Promise<R>): Promise<R[]> {
  const results = new Array<R>(items.length);
  const queue = items.entries();
  let failed = false;
  const lane = async () => {
    for (const [index, item] of queue) {
      if (failed) return;
      try {
        results[index] = await run(item);
      } catch (error) {
        failed = true;
        throw error;
      }
    }
  };
  await Promise.all(Array.from({ length: Math.min(limit, items.length) }, lane));
  return results;
}
