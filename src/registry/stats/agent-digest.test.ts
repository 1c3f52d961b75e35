import fc from 'fast-check';
import { decodeAgentDigest, encodeAgentDigest, seriesKey, type SeriesId } from './agent-digest';

const id: fc.Arbitrary<SeriesId> = fc.oneof(
  fc.record({ version: fc.string(), ability: fc.string() }),
  fc.record({ instanceId: fc.string() }),
);

it('is read back as it was written', () => {
  const bucket = fc.tuple(fc.integer(), fc.nat());
  const block = fc.tuple(fc.nat(), fc.integer({ min: 1, max: 50 }), fc.nat(50));
  const digest = fc.record({ latency: fc.array(bucket), outcomes: fc.array(block), inFlight: fc.nat() });
  fc.assert(
    fc.property(fc.array(fc.record({ id, digest })), (series) => {
      expect(decodeAgentDigest(Buffer.from(encodeAgentDigest(series)))).toEqual(series);
    }),
  );
});

it('no two series share a key', () => {
  fc.assert(
    fc.property(fc.string(), id, fc.string(), id, (nameA, a, nameB, b) => {
      const same = nameA === nameB && JSON.stringify(a) === JSON.stringify(b);
      expect(seriesKey(nameA, a) === seriesKey(nameB, b)).toBe(same);
    }),
  );
});

it.each([
  '',
  '{',
  'null',
  '{"v":2,"series":[]}',
  '{"v":1,"series":[{"instance":"a","latency":[[1,-1]],"outcomes":[],"in_flight":0}]}',
])('%j is not read', (text) => {
  expect(decodeAgentDigest(Buffer.from(text))).toBeNull();
});
