import fc from 'fast-check';
import { chunksOf, formatPayloadRef, isPayloadRef, MAX_CHUNK_BYTES, parsePayloadRef } from './payload-ref';

const digest = 'a'.repeat(64);

describe('chunks', () => {
  it('make up the content again, in order, none empty or over the size', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 500 }), fc.integer({ min: 1, max: 64 }), (content, size) => {
        const chunks = [...chunksOf(content, size)];
        expect(Buffer.concat(chunks.map(({ bytes }) => bytes))).toEqual(Buffer.from(content));
        expect(chunks.map(({ sequence }) => sequence)).toEqual(chunks.map((_, n) => n));
        expect(chunks.every(({ bytes }) => bytes.byteLength > 0 && bytes.byteLength <= size)).toBe(true);
        expect(chunks).toHaveLength(Math.ceil(content.byteLength / size));
      }),
    );
  });

  it.each(Array.from({ length: 15 }, (_, n) => 262_130 + n))(
    'cut characters where they must and lose none of them: after %i bytes',
    (length) => {
      const text = `${'a'.repeat(length)}发票🧾`;
      const chunks = [...chunksOf(Buffer.from(text))];
      expect(chunks[0]?.bytes.byteLength).toBe(Math.min(MAX_CHUNK_BYTES, length + 10));
      const back = Buffer.concat(chunks.map(({ bytes }) => bytes)).toString('utf8');
      expect(back).toBe(text);
      expect(back).not.toContain('\ufffd');
    },
  );
});

describe('a reference', () => {
  it('says what it was made of', () => {
    const ref = formatPayloadRef({ digest, bytes: 26_214_400 });
    expect(ref).toBe(`sha256:${digest}:26214400`);
    expect(parsePayloadRef(ref)).toEqual({ digest, bytes: 26_214_400 });
  });

  it.each([
    ['no size', `sha256:${digest}`],
    ['a size that is no number', `sha256:${digest}:1e3`],
    ['a size with a leading zero', `sha256:${digest}:01`],
    ['upper-case digits', `sha256:${'A'.repeat(64)}:1`],
    ['too few digits', `sha256:${'a'.repeat(63)}:1`],
    ['a way out of the directory', `sha256:../../${'a'.repeat(58)}:1`],
    ['another line', `sha256:${digest}:1\n`],
    ['nothing', ''],
  ])('is none with %s', (_what, text) => {
    expect(isPayloadRef(text)).toBe(false);
    expect(parsePayloadRef(text)).toBeNull();
  });
});
