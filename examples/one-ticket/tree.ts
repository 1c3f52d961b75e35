/** A tree of reaches, read from their traces. */
import { ReachError, type AgentReachClient } from '../../src/sdk/client';

/** A reach with what was made for it. */
export interface Branch {
  reachId: string;
  label: string;
  status: string;
  ms: number;
  children: Branch[];
}

export async function treeOf(reach: AgentReachClient, reachId: string): Promise<Branch> {
  const [view, trace] = await Promise.all([reach.get(reachId), reach.trace(reachId)]);
  const ids = trace.hops.flatMap(({ children = [] }) => children);
  const ability = 'ability' in view ? ` · ${view.ability}` : '';
  return {
    reachId,
    label: `${view.agent_name}${ability}`,
    status: trace.status,
    ms: trace.duration_ms,
    children: (await Promise.all(ids.map((id) => startedOnly(treeOf(reach, id))))).filter((child) => child !== null),
  };
}

/** A reach is noted in its parent's trace a moment before it starts. */
function startedOnly(branch: Promise<Branch>): Promise<Branch | null> {
  return branch.catch((caught: unknown) => {
    if (caught instanceof ReachError && caught.code === 'not_found') return null;
    throw caught;
  });
}

/** All reaches of a tree, the first one's first. */
export function flat(branch: Branch): Branch[] {
  return [branch, ...branch.children.flatMap(flat)];
}

/** One line for each reach, indented below the one that made it. */
export function linesOf({ label, status, ms, reachId, children }: Branch, paint = (text: string) => text): string[] {
  const own = `${label}  ${paint(status)}  ${ms} ms  ${reachId}`;
  const below = children.flatMap((child, index) => {
    const last = index === children.length - 1;
    const [first = '', ...rest] = linesOf(child, paint);
    return [`${last ? '└─' : '├─'} ${first}`, ...rest.map((line) => `${last ? '   ' : '│  '}${line}`)];
  });
  return [own, ...below];
}
