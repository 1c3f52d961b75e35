/** Refuses ids that no URL can name. Apart from the rule itself, which the envelope needs and findings must not depend on. */
import { findingsError } from './findings';
import { isPathId, PATH_ID_RULE } from './path-id';

/** @throws ReachError `invalid_request` at `/id` for a dot segment. `example`: an id of its kind that is fine */
export function assertPathId(id: string, { what, example }: { what: string; example: string }): void {
  if (isPathId(id)) return;
  throw findingsError([{ pointer: '/id', message: PATH_ID_RULE, fix: `choose another, such as ${example}` }], { what });
}
