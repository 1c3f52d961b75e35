import type { ReachTree } from '../registry';
import { REACH_WORKFLOW } from '../../workflows/messages';
import { currentRuns, rowOf } from './reach-rows';
import { readPage, type VisibilityScope } from './visibility';

/** A nested reach and when it began, Unix ms. */
export interface ChildReach {
  reachId: string;
  startMs: number;
}

/** More children than this are not shown in a trace; the list has them all. */
const MAX_CHILDREN = 200;

/**
 * Who was reached from within a reach: by visibility, which knows them for as long as they are kept but a moment late, and by the
 * registry's notes, which know them at once but not for long.
 */
export async function childrenOf(
  scope: VisibilityScope,
  tree: Pick<ReachTree, 'children'>,
  reachId: string,
): Promise<ChildReach[]> {
  const query = `WorkflowType = '${REACH_WORKFLOW}' AND ReachParent = '${reachId.replace(/['\\]/g, '')}'`;
  const [listed, noted] = await Promise.all([
    readPage(scope, { query, pageSize: MAX_CHILDREN }, 'list the nested reaches').then(({ executions }) =>
      currentRuns(executions.map(rowOf)),
    ),
    tree.children(reachId).catch(() => []),
  ]);
  const children = new Map(noted.map(({ reachId: id, notedMs }) => [id, notedMs]));
  for (const { reach_id, accepted_at } of listed) children.set(reach_id, Date.parse(accepted_at));
  return [...children]
    .map(([id, startMs]) => ({ reachId: id, startMs }))
    .sort((one, other) => one.startMs - other.startMs)
    .slice(0, MAX_CHILDREN);
}
