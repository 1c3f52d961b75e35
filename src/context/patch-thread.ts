/** A thread that reads one large batch and ends. */
import { parentPort, workerData } from 'node:worker_threads';
import { ReachError, type Problem } from '../protocol/reach-error';
import { readPatch, type ReadOperation } from './patch-reading';

/** What the thread is started with. */
export interface PatchTask {
  body: Uint8Array;
  cutBytes: number;
}

/** What it answers. */
export type PatchAnswer = { operations: ReadOperation[] } | { problem: Problem };

function answer({ body, cutBytes }: PatchTask): PatchAnswer {
  try {
    return { operations: readPatch(body, cutBytes) };
  } catch (caught) {
    return { problem: ReachError.from(caught).toProblem() };
  }
}

const said = answer(workerData as PatchTask);
const texts =
  'operations' in said ? said.operations.flatMap(({ cut }) => (cut ? [cut.json.buffer as ArrayBuffer] : [])) : [];
parentPort?.postMessage(said, texts);
