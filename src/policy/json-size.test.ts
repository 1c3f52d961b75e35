import fc from 'fast-check';
import { isOverSize } from './json-size';

describe('the size of JSON as it is sent on', () => {
  it.each<[string, number, boolean]>([
    ['"abcd"', 6, false],
    ['"abcd"', 5, true],
    ['   [ 1 , 2 ]   ', 5, false],
    ['"\\u6c49"', 5, false],
    ['[1e20,1e20]', 44, true],
    ['[1e20,1e20]', 45, false],
  ])('%s against %i bytes', (text, limit, over) => {
    expect(isOverSize(JSON.parse(text), Buffer.byteLength(text), limit)).toBe(over);
  });

  it('agrees with writing it out, however it was written', () => {
    const number = fc.oneof(fc.integer(), fc.constantFrom(1e20, -1e20, 9e20, 1e-6, 1.5e20));
    fc.assert(
      fc.property(
        fc.array(fc.oneof(number, fc.string()), { maxLength: 30 }),
        fc.integer({ min: 1, max: 600 }),
        (value, limit) => {
          const shortest = `[${value.map((item) => (typeof item === 'number' ? item.toExponential().replace('e+', 'e') : JSON.stringify(item))).join(',')}]`;
          const over = Buffer.byteLength(JSON.stringify(value)) > limit;
          return isOverSize(value, Buffer.byteLength(shortest), limit) === over;
        },
      ),
    );
  });
});
