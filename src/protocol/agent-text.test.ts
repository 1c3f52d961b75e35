import fc from 'fast-check';
import { agentText } from './agent-text';

it.each([
  ['no such order', 'no such order'],
  ['\u001b[2Jgone\r\n{"level":"error"}\u0000', '[2Jgone {"level":"error"}'],
  ['turned\u202ednuora', 'turned dnuora'],
  ['多语言 🧾', '多语言 🧾'],
  ['\u0007\u009b', ''],
])('%j becomes %j', (text, shown) => expect(agentText(text)).toBe(shown));

it('never holds what prints nothing, nor more than is allowed, nor half a character', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary', maxLength: 60 }), fc.integer({ min: 0, max: 40 }), (text, max) => {
      const shown = agentText(text, max);
      expect(shown).not.toMatch(/\p{C}/u);
      expect(shown.length).toBeLessThanOrEqual(max);
    }),
  );
});
