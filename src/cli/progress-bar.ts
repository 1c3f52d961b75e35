import type { CliIo } from './io';
import { fit } from './render/text';

const WIDTH = 24;

/** A bar on stderr for work that is counted; nothing at all when stderr is no terminal. */
export class ProgressBar {
  private done = 0;
  private readonly drawn: boolean;

  constructor(
    private readonly io: CliIo,
    private readonly options: { text: string; total: number; quiet: boolean },
  ) {
    this.drawn = io.errColumns !== undefined && !options.quiet && options.total > 1;
    this.draw();
  }

  /** One more is done. */
  tick(): void {
    this.done += 1;
    this.draw();
  }

  /** Takes the line away. */
  stop(): void {
    if (this.drawn) this.io.err('\r\u001b[2K');
  }

  private draw(): void {
    if (!this.drawn) return;
    const { text, total } = this.options;
    const filled = Math.round((this.done / total) * WIDTH);
    const bar = '█'.repeat(filled) + '░'.repeat(WIDTH - filled);
    const count = `${this.done}/${total}`;
    const room = Math.max(10, (this.io.errColumns ?? 0) - WIDTH - count.length - 4); // a line that wraps could not be taken away
    this.io.err(`\r\u001b[2K${this.io.errColor.cyan(bar)} ${count} ${fit(text, room)}`);
  }
}
