import { MAX_DELIVERY_BYTES } from '../../protocol/callback';
import type { Problem } from '../../protocol/reach-error';
import type { ReachLinks } from '../../protocol/shapes';
import type { ReachView } from '../reach-view';

/** What of a problem is told when all else is too large. */
const MAX_DETAIL_CHARS = 2_000;

/** A view as it is told: at most 256 KiB as JSON. */
export interface ToldView {
  status: string;
  view: Record<string, unknown>;
}

/**
 * The view of an ended reach as receivers get it. One over 256 KiB is told without its output, with the links under which
 * it can be read; a failure that large, without its findings and attempts.
 */
export function toldView(view: ReachView, links: ReachLinks): ToldView {
  const { status } = view;
  const isElsewhere = 'output_ref' in view && view.output_ref !== undefined;
  if (!isElsewhere && fits(view)) return { status, view: { ...view } };
  const without: Record<string, unknown> = { ...view, links: { ...links } };
  if ('output' in view) without.output_omitted = true;
  delete without.output;
  delete without.answer;
  return { status, view: fits(without) ? without : inShort(without) };
}

function inShort(view: Record<string, unknown>): Record<string, unknown> {
  const { attempts, error, ...known } = view as { attempts?: unknown; error?: Problem };
  const short = error && { code: error.code, detail: error.detail.slice(0, MAX_DETAIL_CHARS) };
  return { ...known, attempts: Array.isArray(attempts) ? [] : attempts, ...(short && { error: short }) };
}

function fits(value: unknown): boolean {
  return Buffer.byteLength(JSON.stringify(value)) <= MAX_DELIVERY_BYTES;
}
