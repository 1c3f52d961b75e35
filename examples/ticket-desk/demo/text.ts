/** Text in columns: Chinese characters and emoji take two cells of a terminal, combining marks none. */
import pc from 'picocolors';

const WIDE =
  /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}\p{Emoji_Presentation}\u3000-\u303f\uff01-\uff60\uffe0-\uffe6]/u;
const INVISIBLE = /^[\p{Mark}\p{Cf}]+$/u;
const characters = new Intl.Segmenter(undefined, { granularity: 'grapheme' });

export type Colors = ReturnType<typeof pc.createColors>;

/** Colours for a stream: none where nobody sees them (pipes) or wants them (https://no-color.org). */
export function colorsFor(stream: { isTTY?: boolean }): Colors {
  return pc.createColors(stream.isTTY === true && !process.env.NO_COLOR);
}

/** Cells that a text takes; it must not contain escape sequences. */
export function displayWidth(text: string): number {
  let width = 0;
  for (const { segment } of characters.segment(text)) width += cellsOf(segment);
  return width;
}

/** The text in exactly so many cells: cut with an ellipsis, or padded. Line breaks become spaces. */
export function fit(text: string, width: number, align: 'left' | 'right' = 'left'): string {
  const shown = shorten(text.replace(/\s+/g, ' '), width);
  const space = ' '.repeat(Math.max(0, width - displayWidth(shown)));
  return align === 'left' ? shown + space : space + shown;
}

function shorten(text: string, width: number): string {
  if (displayWidth(text) <= width) return text;
  let shown = '';
  let left = width - 1;
  for (const { segment } of characters.segment(text)) {
    left -= cellsOf(segment);
    if (left < 0) break;
    shown += segment;
  }
  return `${shown.trimEnd()}…`;
}

function cellsOf(character: string): number {
  if (INVISIBLE.test(character)) return 0;
  return WIDE.test(character) ? 2 : 1;
}
