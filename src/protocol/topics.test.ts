import fc from 'fast-check';
import { patternsOf, topicPatternSchema, topicSchema } from './topics';

it.each(['orders', 'orders.created', 'a_b-c.1.订单', 'x'.repeat(200)])('%s is a topic, and a pattern', (topic) => {
  expect(topicSchema.safeParse(topic).success).toBe(true);
  expect(topicPatternSchema.safeParse(topic).success).toBe(true);
});

it.each(['', '.', 'a.', '.a', 'a..b', 'a b', 'a/b', 'a.*.b', '*.a', 'a*', 'A\u0301', 'x'.repeat(201), 'a\n', 'a:b'])(
  '%j is neither',
  (text) => {
    expect(topicSchema.safeParse(text).success).toBe(false);
    expect(topicPatternSchema.safeParse(text).success).toBe(false);
  },
);

it.each(['*', 'orders.*', 'orders.eu.*'])('%s is a pattern and no topic', (pattern) => {
  expect(topicPatternSchema.safeParse(pattern).success).toBe(true);
  expect(topicSchema.safeParse(pattern).success).toBe(false);
});

it('lists the patterns that a topic fits, most specific first', () => {
  expect(patternsOf('a.b.c')).toEqual(['a.b.c', 'a.b.*', 'a.*', '*']);
  expect(patternsOf('a')).toEqual(['a', '*']);
});

/** What the documentation says, word for word. */
function fits(topic: string, pattern: string): boolean {
  if (pattern === '*' || pattern === topic) return true;
  return pattern.endsWith('.*') && topic.startsWith(pattern.slice(0, -1)) && topic.length >= pattern.length;
}

it('holds that a topic fits just the patterns listed', () => {
  const segment = fc.constantFrom('a', 'b', 'ab', '_', '1');
  const topic = fc.array(segment, { minLength: 1, maxLength: 4 }).map((parts) => parts.join('.'));
  const pattern = fc.oneof(
    topic,
    topic.map((text) => `${text}.*`),
    fc.constant('*'),
  );
  fc.assert(
    fc.property(topic, pattern, (name, asked) => {
      expect(topicSchema.safeParse(name).success && topicPatternSchema.safeParse(asked).success).toBe(true);
      expect(patternsOf(name).includes(asked)).toBe(fits(name, asked));
    }),
    { numRuns: 500 },
  );
});
