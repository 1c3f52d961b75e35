import { setTimeout as sleep } from 'node:timers/promises';
import type { WorkflowExecutionDescription } from '@temporalio/client';
import type { Lineage } from '../protocol/lineage';
import type { ReachReader } from './reach-reader';

/** A nested reach that is about to start; `ttlMs`: how long its parent may still run. */
export interface Joining {
  parent: string;
  child: string;
  tree: Lineage['tree'];
  ttlMs: number;
}

/** The call that a nested reach is made for, as the worker of this process knows it. */
export interface LocalCall {
  runId: string;
  attempt: number;
}

/** What a note needs of its surroundings. */
export interface NoteOptions {
  tree: { join(joining: Joining): Promise<unknown> };
  reader: Pick<ReachReader, 'describe'>;
  callsUnderWay: { has(call: LocalCall): boolean };
  /** Pauses before a note that failed is tried again, ms. A cancelled run looks for its children for no longer. */
  againAfterMs?: readonly number[];
}

const AGAIN_AFTER_MS = [500, 1_000, 2_000, 4_000, 8_000];

/**
 * Notes a child while it starts, instead of before: a note is a write to the disks of etcd, and lasts as long as the start.
 * Sound, because the parent is looked at again once the note stands. A cancelled run asks for its children only when its call
 * here has ended, so a call that is still under way then will find the note; one that is not may have asked too early, and whether
 * it was cancelled says the server.
 *
 * A registry that does not take the note holds up nobody: it is tried again for a while.
 *
 * @returns whether the parent is cancelled, and the child to be; false where the first try failed. `late` is called with the same
 *   when a later try has found it.
 */
export async function noteBeside(
  options: NoteOptions,
  { joining, call, late }: { joining: Joining; call: LocalCall; late: () => void },
): Promise<{ cancelled: boolean }> {
  try {
    await options.tree.join(joining);
  } catch {
    void noteLater(options, { joining, call, late });
    return { cancelled: false };
  }
  return { cancelled: await isCancelled(options, joining.parent, call) };
}

async function noteLater(
  options: NoteOptions,
  { joining, call, late }: { joining: Joining; call: LocalCall; late: () => void },
): Promise<void> {
  for (const pauseMs of options.againAfterMs ?? AGAIN_AFTER_MS) {
    await sleep(pauseMs, undefined, { ref: false });
    const noted = await options.tree.join(joining).then(
      () => true,
      () => false,
    );
    if (!noted) continue;
    if (await isCancelled(options, joining.parent, call)) late();
    return;
  }
}

/** A server that does not answer has not said so: the parent's deadline still bounds the child. */
async function isCancelled({ reader, callsUnderWay }: NoteOptions, parent: string, call: LocalCall): Promise<boolean> {
  if (callsUnderWay.has(call)) return false;
  const description = await reader.describe(parent).catch(() => null);
  return description !== null && description.runId === call.runId && wasCancelled(description);
}

function wasCancelled({ status, raw }: WorkflowExecutionDescription): boolean {
  return status.name === 'CANCELLED' || Boolean(raw.workflowExtendedInfo?.cancelRequested);
}
