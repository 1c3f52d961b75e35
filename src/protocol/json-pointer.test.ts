import fc from 'fast-check';
import { pointerTokens, resolvePointer, toPointer } from './json-pointer';

describe('JSON pointers (RFC 6901)', () => {
  it.each([
    ['', []],
    ['/', ['']],
    ['/a~1b', ['a/b']],
    ['/m~0n', ['m~n']],
    ['/~01', ['~1']],
    ['/a/0', ['a', '0']],
  ])('%j names %j', (pointer, tokens) => {
    expect(pointerTokens(pointer)).toEqual(tokens);
    expect(toPointer(tokens)).toBe(pointer);
  });

  it.each(['a', 'a/b', '/~', '/~2', '#/a'])('%j is none', (pointer) =>
    expect(() => pointerTokens(pointer)).toThrow(RangeError),
  );

  it('tokens survive the round trip (property)', () => {
    fc.assert(fc.property(fc.array(fc.string()), (tokens) => expect(pointerTokens(toPointer(tokens))).toEqual(tokens)));
  });

  it.each([
    ['/a/1/b', 2],
    ['', { a: [0, { b: 2 }] }],
    ['/a/01', undefined],
    ['/a/-', undefined],
    ['/a/length', undefined],
    ['/toString', undefined],
    ['/a/1/b/c', undefined],
  ])('%j resolves to %j', (pointer, value) => {
    expect(resolvePointer({ a: [0, { b: 2 }] }, pointer)).toEqual(value);
  });
});
