import { EXIT } from './exit-codes';

type Streams = Pick<NodeJS.Process, 'stdout' | 'stderr' | 'exit'>;

/**
 * Decides what happens when what is printed cannot be written. A reader that has seen enough (`| head -1`, EPIPE) is no failure:
 * `gone` is told; the command does its work, prints no more and keeps its exit code. Anything else, such as a full disk, ends the process with one
 * line on stderr and exit code 1. What stderr does not take is lost: there is nowhere left to say so.
 */
export function handleLostOutput({ stdout, stderr, exit }: Streams, gone: () => void): void {
  stderr.on('error', () => undefined);
  stdout.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code === 'EPIPE') return gone();
    stderr.write(`agent-reach: stdout could not be written: ${error.message}\n`);
    exit(EXIT.failed);
  });
}
