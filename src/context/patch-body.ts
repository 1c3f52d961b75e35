import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { Worker } from 'node:worker_threads';
import { ReachError } from '../protocol/reach-error';
import { LargeValue, type PatchOperation } from './encoded';
import { readPatch, type ReadOperation } from './patch-reading';
import type { PatchAnswer, PatchTask } from './patch-thread';

/** What is smaller takes a few milliseconds to read, less than a thread takes to start, bytes. */
const IN_PLACE_BYTES = 524_288;
/** Values over so many bytes of a body that is read by a thread stay text. */
const CUT_BYTES = 65_536;
/** More than the largest batch takes to read, with as many values as one may have, MiB. */
const HEAP_MB = 2_048;
/** The compiled thread; where the sources run as they are (tests), everything is read in place. */
const THREAD = join(__dirname, 'patch-thread.js');

/**
 * Reads batches. Large ones are parsed, checked, hashed and written out by a thread, so that the process goes on answering; one after
 * the other, so that many at once take turns instead of memory. The thread ends with its batch, which gives its heap back.
 */
export class PatchBodies {
  private turn: Promise<unknown> = Promise.resolve();

  constructor(private readonly entry: string | null = existsSync(THREAD) ? THREAD : null) {}

  /** The operations of a body. @throws ReachError what {@link readPatch} throws */
  async read(body: Uint8Array): Promise<PatchOperation[]> {
    if (body.byteLength <= IN_PLACE_BYTES) return readPatch(body, Infinity).map(operationOf);
    const { entry } = this;
    if (entry === null) return readPatch(body, CUT_BYTES).map(operationOf);
    const read = this.turn.then(() => inThread(entry, { body: owned(body), cutBytes: CUT_BYTES }));
    this.turn = read.catch(() => undefined);
    return (await read).map(operationOf);
  }
}

function inThread(entry: string, task: PatchTask): Promise<ReadOperation[]> {
  return new Promise((resolve, reject) => {
    const failed = (cause?: unknown) =>
      reject(new ReachError('internal', 'The batch could not be read; try again, or write less at once', { cause }));
    const thread = new Worker(entry, {
      workerData: task,
      transferList: [task.body.buffer as ArrayBuffer],
      resourceLimits: { maxOldGenerationSizeMb: HEAP_MB },
    });
    thread.once('message', (answer: PatchAnswer) =>
      'problem' in answer ? reject(ReachError.fromProblem(answer.problem)) : resolve(answer.operations),
    );
    thread.once('error', failed);
    thread.once('exit', () => failed());
  });
}

function operationOf({ operation, cut }: ReadOperation): PatchOperation {
  if (!cut || operation.op === 'delete') return operation;
  return { ...operation, value: new LargeValue(cut.json, cut.isList, cut.sha256) };
}

/** Bytes in memory of their own, which can be handed to a thread. */
function owned(body: Uint8Array): Uint8Array {
  const { buffer, byteOffset, byteLength } = body;
  const whole = buffer instanceof ArrayBuffer && byteOffset === 0 && byteLength === buffer.byteLength;
  return whole ? body : new Uint8Array(body);
}
