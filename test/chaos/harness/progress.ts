import { Presets, SingleBar } from 'cli-progress';

/** Shows how far the matrix is. Standard error: standard output is for the report. */
export interface Progress {
  begin(title: string): void;
  /** What the current row is doing. */
  say(text: string): void;
  /** The current row is over. */
  step(): void;
  stop(): void;
}

/** A bar on a terminal, lines elsewhere. */
export function progressOn(stream: NodeJS.WriteStream, total: number): Progress {
  return stream.isTTY ? new Bar(stream, total) : new Lines(stream, total);
}

class Bar implements Progress {
  private readonly bar: SingleBar;
  private title = '';

  constructor(stream: NodeJS.WriteStream, total: number) {
    const format = '  {bar} {value}/{total}  {duration_formatted}  {text}';
    this.bar = new SingleBar({ stream, format, barsize: 24, hideCursor: true, fps: 5 }, Presets.shades_classic);
    this.bar.start(total, 0, { text: '' });
  }

  begin(title: string): void {
    this.title = title;
    this.say('');
  }

  say(text: string): void {
    this.bar.update({ text: text ? `${this.title}: ${text}` : this.title });
  }

  step(): void {
    this.bar.increment();
  }

  stop(): void {
    this.bar.update({ text: '' });
    this.bar.stop();
  }
}

class Lines implements Progress {
  private begun = 0;

  constructor(
    private readonly stream: NodeJS.WriteStream,
    private readonly total: number,
  ) {}

  begin(title: string): void {
    this.begun += 1;
    this.stream.write(`[${this.begun}/${this.total}] ${title}\n`);
  }

  say(text: string): void {
    this.stream.write(`    ${text}\n`);
  }

  step(): void {}

  stop(): void {}
}
