/** Small texts for people: durations, times, widths. */

/** A duration: `7 ms`, `1.2 s`, `3 m 05 s`, `2 h 10 m`. */
export function duration(ms: number): string {
  if (ms < 1_000) return `${Math.round(ms)} ms`;
  if (ms < 59_950) return `${(ms / 1_000).toFixed(1)} s`;
  const seconds = Math.round(ms / 1_000);
  if (seconds < 3_600) return `${Math.floor(seconds / 60)} m ${pad(seconds % 60)} s`;
  const minutes = Math.round(seconds / 60);
  if (minutes < 2_880) return `${Math.floor(minutes / 60)} h ${pad(minutes % 60)} m`;
  return `${Math.round(minutes / 1_440)} d`;
}

/** How long ago an ISO time was: `12 s ago`. */
export function ago(iso: string, now = new Date()): string {
  const ms = now.getTime() - Date.parse(iso);
  return Number.isFinite(ms)
    ? `${duration(Math.max(0, Math.floor(ms / 1_000) * 1_000))
        .replace('.0 s', ' s')
        .replace(/^0 ms$/, '0 s')} ago`
    : iso;
}

/** 0–1 as a score, three digits. */
export const score = (value: number): string => value.toFixed(3);

/** A share as percent, or `-` when nothing was measured. */
export const percent = (share: number | null | undefined): string =>
  typeof share === 'number' ? `${(share * 100).toFixed(share > 0 && share < 0.1 ? 1 : 0)} %` : '-';

/** What a table of {@link shareOf} is sorted by, and how its columns belong together. */
export const SHARE_NOTE = 'best first by SHARE, of the likelihood among all; confidence = score × share';

/**
 * The share of the likelihood that falls to a hit by meaning, which puts it in its place among the others; its confidence is
 * the score times that. `-` where a score of 0 leaves nothing to tell it from.
 */
export const shareOf = ({ score: fits, confidence }: { score: number; confidence: number }): string =>
  fits > 0 ? percent(Math.min(1, Math.round((confidence / fits) * 1_000) / 1_000)) : '-';

/** A measured duration, or `-` when nothing was. */
export const measured = (ms: number | null | undefined): string => (typeof ms === 'number' ? duration(ms) : '-');

/** Bytes: `812 bytes`, `64 KiB`, `1.5 MiB`. */
export function size(bytes: number): string {
  if (bytes < 1_024) return count(bytes, 'byte');
  const [value, unit] = bytes < 1_048_576 ? [bytes / 1_024, 'KiB'] : [bytes / 1_048_576, 'MiB'];
  return `${Number(value.toFixed(1))} ${unit}`;
}

/** `1 attempt`, `2 attempts`. */
export const count = (n: number, noun: string): string => `${n} ${noun}${n === 1 ? '' : 's'}`;

/** `name#version`, as the envelope writes it. */
export const agentOf = (name: string | null | undefined, version: string | null | undefined): string =>
  name ? `${name}${version ? `#${version}` : ''}` : '-';

const WIDE =
  /[\u1100-\u115f\u2e80-\u303e\u3041-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6]|\p{Extended_Pictographic}/u;
const ZERO = /\p{M}|[\u200b-\u200f\ufe0f]/u;
/** Colour sequences take no room. */
const COLOR = /\u001b\[[0-9;]*m/g;

/** Columns that a text takes on a terminal: two for ideographs and pictographs, none for colours. */
export function width(text: string): number {
  return [...text.replace(COLOR, '')].reduce((sum, char) => sum + (ZERO.test(char) ? 0 : WIDE.test(char) ? 2 : 1), 0);
}

/** A text without colours cut to `max` columns, with an ellipsis where it was longer. */
export function fit(text: string, max: number): string {
  const line = text.replace(/\s+/g, ' ').trim();
  if (width(line) <= max) return line;
  let kept = '';
  for (const char of line) {
    if (width(kept + char) > max - 1) break;
    kept += char;
  }
  return `${kept.trimEnd()}…`;
}

const pad = (n: number): string => String(n).padStart(2, '0');
