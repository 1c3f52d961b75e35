import type { CliIo } from './io';
import { duration, fit } from './render/text';

const FRAMES = ['⠋', '⠙', '⠹', '⠸', '⠼', '⠴', '⠦', '⠧', '⠇', '⠏'];
const FRAME_MS = 80;
/** Answers faster than this come without a spinner, ms. */
const DELAY_MS = 200;

/** A line on stderr that shows that something is being waited for; nothing at all when stderr is no terminal. */
export class Spinner {
  #text: string;
  #drawn = false;
  readonly #timer: NodeJS.Timeout | undefined;
  readonly #startedAt = performance.now();

  constructor(
    private readonly io: CliIo,
    options: { text: string; quiet: boolean },
  ) {
    this.#text = options.text;
    if (io.errColumns !== undefined && !options.quiet) this.#timer = setInterval(() => this.#draw(), FRAME_MS);
  }

  /** Changes what is being waited for. */
  say(text: string): void {
    this.#text = text;
  }

  /** Takes the line away. */
  stop(): void {
    clearInterval(this.#timer);
    if (this.#drawn) this.io.err('\r\u001b[2K');
  }

  #draw(): void {
    const ms = performance.now() - this.#startedAt;
    if (ms < DELAY_MS) return;
    this.#drawn = true;
    const frame = FRAMES[Math.floor(ms / FRAME_MS) % FRAMES.length] ?? '';
    const { cyan, dim } = this.io.errColor;
    const room = Math.max(20, (this.io.errColumns ?? 0) - 14); // a line that wraps could not be taken away
    this.io.err(`\r\u001b[2K${cyan(frame)} ${fit(this.#text, room)} ${dim(duration(ms))}`);
  }
}
