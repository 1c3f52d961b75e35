import { Presets, SingleBar } from 'cli-progress';

/** Shows how far the run is. `total` counts requests, so that the bar moves evenly. */
export interface Progress {
  /** A new part of the run begins. */
  phase(name: string): void;
  /** One request more is answered. */
  step(): void;
  stop(): void;
}

/** A bar on a terminal; elsewhere a line for each part. Standard error: standard output is for the figures. */
export function progressOn(stream: NodeJS.WriteStream, total: number): Progress {
  return stream.isTTY ? new Bar(stream, total) : new Lines(stream, total);
}

class Bar implements Progress {
  private readonly bar: SingleBar;

  constructor(stream: NodeJS.WriteStream, total: number) {
    const format = '  {bar} {percentage} %  {duration_formatted}  {phase}';
    this.bar = new SingleBar({ stream, format, barsize: 30, hideCursor: true, fps: 5 }, Presets.shades_classic);
    this.bar.start(total, 0, { phase: '' });
  }

  phase(phase: string): void {
    this.bar.update({ phase });
  }

  step(): void {
    this.bar.increment();
  }

  stop(): void {
    this.bar.update({ phase: '' });
    this.bar.stop();
  }
}

class Lines implements Progress {
  private done = 0;
  private last = '';

  constructor(
    private readonly stream: NodeJS.WriteStream,
    private readonly total: number,
  ) {}

  phase(name: string): void {
    if (name === this.last) return;
    this.last = name;
    this.stream.write(`  ${String(Math.round((this.done / this.total) * 100)).padStart(3)} %  ${name}\n`);
  }

  step(): void {
    this.done += 1;
  }

  stop(): void {}
}
