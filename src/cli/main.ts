#!/usr/bin/env node
import { processIo } from './io';
import { handleLostOutput } from './lost-output';
import { run } from './run';

const readerGone = new AbortController();
handleLostOutput(process, () => readerGone.abort());
const interrupt = new AbortController();
process.once('SIGINT', () => interrupt.abort(new Error('interrupted')));

run(process.argv.slice(2), processIo(interrupt.signal, readerGone.signal)).then(
  (code) => {
    process.exitCode = code;
  },
  (error: unknown) => {
    process.stderr.write(`agent-reach: ${error instanceof Error ? error.stack : String(error)}\n`);
    process.exitCode = 1;
  },
);
