/** Names of topics and what subscriptions say of them (R3). Pure. */
import { z } from 'zod';

/** Longest topic, in characters. */
const MAX_TOPIC_CHARS = 200;
const SEGMENT = '[\\p{L}\\p{M}\\p{N}_-]+';
const TOPIC = new RegExp(`^${SEGMENT}(\\.${SEGMENT})*$`, 'u');
const TOPIC_PATTERN = new RegExp(`^(\\*|${SEGMENT}(\\.${SEGMENT})*(\\.\\*)?)$`, 'u');
const isNfc = (text: string) => text.normalize('NFC') === text;

/**
 * A topic: segments of letters of any script, digits, `_` and `-`, joined by dots; at most 200 characters, NFC. Case
 * matters. `orders.eu.created`
 */
export const topicSchema = z
  .string()
  .max(MAX_TOPIC_CHARS)
  .regex(TOPIC, 'must be segments of letters, digits, _ and -, joined by dots, such as orders.created')
  .refine(isNfc, 'must be in Unicode normal form C')
  .meta({ description: 'Dot-separated segments of letters, digits, `_` and `-`.', example: 'orders.created' });

/**
 * What a subscription listens to: one topic; `orders.*` for all topics that go on after `orders.` by one segment or
 * more; `*` for all.
 */
export const topicPatternSchema = z
  .string()
  .max(MAX_TOPIC_CHARS)
  .regex(TOPIC_PATTERN, 'must be a topic such as orders.created, one that ends in .* such as orders.*, or * for all')
  .refine(isNfc, 'must be in Unicode normal form C')
  .meta({
    description: 'A topic; `orders.*` for every topic below `orders` at any depth; `*` for every topic.',
    example: 'orders.*',
  });

/**
 * The patterns that a topic fits, most specific first: itself, its prefixes followed by `.*`, and `*`. As many as it has
 * segments, and one: so who listens is looked up, not searched for.
 */
export function patternsOf(topic: string): string[] {
  const segments = topic.split('.');
  const prefixes = segments.slice(1).map((_, n) => `${segments.slice(0, segments.length - 1 - n).join('.')}.*`);
  return [topic, ...prefixes, '*'];
}
