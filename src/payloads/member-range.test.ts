import fc from 'fast-check';
import { memberRange } from './member-range';

const cut = (text: string, name: string): unknown => {
  const content = Buffer.from(text);
  const range = memberRange(content, name);
  return range && JSON.parse(content.subarray(...range).toString('utf8'));
};

describe('the range of a member', () => {
  it('holds exactly its value, whatever is around and inside it', () => {
    const spaces = fc.constantFrom(undefined, 1, '\t');
    fc.assert(
      fc.property(
        fc.dictionary(fc.string({ unit: 'grapheme' }), fc.jsonValue()),
        fc.string(),
        spaces,
        (value, other, space) => {
          const plain = JSON.parse(JSON.stringify(value)) as Record<string, unknown>;
          const text = JSON.stringify(plain, null, space);
          for (const name of Object.keys(plain)) expect(cut(text, name)).toEqual(plain[name]);
          if (!Object.hasOwn(plain, other)) expect(cut(text, other)).toBeNull();
        },
      ),
      { numRuns: 300 },
    );
  });

  it.each([
    ['an escaped name', '{"\\u0061nswer":1}', 1],
    ['the name as a value', '{"a":"answer","b":2}', null],
    ['the name deeper down', '{"a":{"answer":1}}', null],
    ['the name within a text', '{"a":"\\"answer\\":1"}', null],
    ['brackets in texts', '{"a":"}]","answer":"{["}', '{['],
    ['white space all over', ' { "answer" :  [ 1 , 2 ]  } ', [1, 2]],
    ['an empty object', '{}', null],
    ['many scripts before it', '{"发票":"🧾","answer":"发票🧾"}', '发票🧾'],
  ])('is found, or not, with %s', (_what, text, expected) => {
    expect(cut(text, 'answer')).toEqual(expected);
  });
});
