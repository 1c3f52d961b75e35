import fc from 'fast-check';
import type { Moment } from '../clock';
import { decodeAgentDigest, encodeAgentDigest, seriesKey, type SeriesId } from './agent-digest';

const id: fc.Arbitrary<SeriesId> = fc.oneof(
  fc.record({ version: fc.string(), ability: fc.string() }),
  fc.record({ instanceId: fc.string() }),
);

const NOW: Moment = { nowMs: 5_000, wallSec: 1_000 };
const readBack = (text: string, moment = NOW) => decodeAgentDigest(Buffer.from(text), moment);

it('is read back as it was written', () => {
  const bucket = fc.tuple(fc.integer(), fc.nat());
  const block = fc.tuple(fc.nat(), fc.integer({ min: 1, max: 50 }), fc.nat(50));
  const evidence = fc.record({ requests: fc.nat(1000), failures: fc.nat(1000), atMs: fc.constant(5_000) });
  const digest = fc.record({ latency: fc.array(bucket), outcomes: fc.array(block), evidence, inFlight: fc.nat() });
  fc.assert(
    fc.property(fc.array(fc.record({ id, digest })), (series) => {
      expect(readBack(encodeAgentDigest(series, NOW))).toEqual(series);
    }),
  );
});

describe('evidence', () => {
  const digest = { latency: [], outcomes: [], evidence: { requests: 8, failures: 2, atMs: 3_000 }, inFlight: 0 };
  const written = encodeAgentDigest([{ id: { instanceId: 'i' }, digest }], NOW);
  const evidenceAt = (moment: Moment) => readBack(written, moment)![0]!.digest.evidence;

  it('is as old for who reads it as for who wrote it, whatever their monotonic clocks show', () => {
    expect(evidenceAt({ nowMs: 900_000, wallSec: NOW.wallSec })).toEqual({ requests: 8, failures: 2, atMs: 898_000 });
    expect(evidenceAt({ nowMs: 900_000, wallSec: NOW.wallSec + 60 }).atMs).toBe(838_000);
  });

  it('is no newer than now for a reader whose wall clock is behind', () => {
    expect(evidenceAt({ nowMs: 900_000, wallSec: NOW.wallSec - 3_600 }).atMs).toBe(900_000);
  });

  it('that an earlier release did not write is what its outcomes say', () => {
    const series = [{ instance: 'i', latency: [], outcomes: [[900, 50, 5], [800, 10, 4]], in_flight: 0 }]; // prettier-ignore
    const [read] = readBack(JSON.stringify({ v: 1, series }))!;
    expect(read!.digest.evidence).toEqual({ requests: 60, failures: 9, atMs: NOW.nowMs });
  });
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
  expect(readBack(text)).toBeNull();
});
