/** The thread of a {@link PayloadReader}: one content after the other, each handed back when it was read. */
import { parentPort } from 'node:worker_threads';
import { ReachError } from '../protocol/reach-error';
import { readContent, type ReadFindings, type ReadOrder } from './reading';
import type { Problem } from '../protocol/reach-error';

/** What the thread is sent. */
export interface ThreadTask {
  id: number;
  content: Uint8Array;
  order: ReadOrder;
}

/** What it answers. The content comes back with it. */
export type ThreadAnswer = { id: number; content: Uint8Array } & ({ found: ReadFindings } | { problem: Problem });

parentPort?.on('message', ({ id, content, order }: ThreadTask) => {
  const send = (answer: ThreadAnswer) => parentPort?.postMessage(answer, [content.buffer as ArrayBuffer]);
  try {
    send({ id, content, found: readContent(content, order) });
  } catch (caught) {
    send({ id, content, problem: ReachError.from(caught).toProblem() });
  }
});
