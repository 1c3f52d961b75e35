/** What instances of agents are called. Pure. */

/** Short enough for a key, and without anything that could leave its place in one. */
export const INSTANCE_ID = /^[A-Za-z0-9._-]{1,128}$/;
/** Ids of static instances start so; nobody may register one. */
export const STATIC_INSTANCE_PREFIX = 'static-';

/** True for what an instance may call itself. */
export function isOwnInstanceId(id: string): boolean {
  return INSTANCE_ID.test(id) && !id.startsWith(STATIC_INSTANCE_PREFIX);
}
