/** How far the demo has come, on standard error: standard output belongs to the result. */
import { SingleBar } from 'cli-progress';
import { isRight, type Outcome } from './dispatch';
import { colorsFor, fit } from './text';

const colors = colorsFor(process.stderr);

/** Says what begins and, with the time it took, that it is done; on a terminal in the same line. */
export async function step<T>(title: string, work: () => Promise<T>): Promise<T> {
  const startedAt = performance.now();
  process.stderr.write(`${colors.bold('▸')} ${title}\n`);
  const result = await work();
  const seconds = ((performance.now() - startedAt) / 1000).toFixed(1);
  process.stderr.write(
    `${process.stderr.isTTY ? LINE_UP : ''}${colors.green('✓')} ${title} ${colors.dim(`${seconds} s`)}\n`,
  );
  return result;
}

/** Back to the line above, and clears it. */
const LINE_UP = '\u001b[1A\u001b[2K';

/** Prints something to know. */
export function note(text: string): void {
  process.stderr.write(`${colors.dim(text)}\n`);
}

/** A bar on a terminal, a line for each ticket elsewhere. */
export function ticketProgress(total: number): { done: (outcome: Outcome) => void; stop: () => void } {
  return process.stderr.isTTY ? barProgress(total) : lineProgress(total);
}

function barProgress(total: number) {
  const bar = new SingleBar({
    stream: process.stderr,
    format: '  {bar} {value}/{total}  {ticket}',
    barCompleteChar: '█',
    barIncompleteChar: '░',
    barsize: 32,
    hideCursor: true,
    clearOnComplete: true,
    // Signals are the demo's own business: it stops everything and shows the cursor again.
    gracefulExit: false,
  });
  bar.start(total, 0, { ticket: '' });
  return { done: ({ ticket }: Outcome) => bar.increment(1, { ticket: fit(ticket.text, 32) }), stop: () => bar.stop() };
}

function lineProgress(total: number) {
  let count = 0;
  const done = (outcome: Outcome) => {
    const { ticket, answered, failed, ms } = outcome;
    const mark = failed || isRight(outcome) === false ? '✗' : '✓';
    process.stderr.write(`  ${++count}/${total} ${ticket.id} ${mark} ${answered?.agent ?? failed?.code} ${ms} ms\n`);
  };
  return { done, stop: () => undefined };
}
