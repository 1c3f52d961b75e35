import fc from 'fast-check';
import { DotScanner } from './dot-scanner';

const number = fc.float({ min: -1, max: 1, noNaN: true });

test('gives what plain arithmetic gives, for any width and any choice of rows', () => {
  const cases = fc.integer({ min: 1, max: 70 }).chain((dimensions) => {
    const vector = fc.array(number, { minLength: dimensions, maxLength: dimensions });
    return fc.record({
      query: vector,
      stored: fc.array(vector, { minLength: 1, maxLength: 12 }),
      picks: fc.array(fc.nat(), { maxLength: 12 }),
    });
  });
  fc.assert(
    fc.property(cases, ({ query, stored, picks }) => {
      const scanner = new DotScanner(stored.length, query.length);
      stored.forEach((vector, row) => scanner.set(row, Float32Array.from(vector)));
      const rows = Int32Array.from(picks.slice(0, stored.length), (pick) => pick % stored.length);
      const asked = Float32Array.from(query);
      const dots = scanner.scan(asked, rows);
      const plain = scanner.scanPlainly(asked, rows);
      expect(dots).toHaveLength(rows.length);
      rows.forEach((row, i) => {
        const exact = stored[row]!.reduce((sum, value, d) => sum + Math.fround(value) * asked[d]!, 0);
        expect(dots[i]).toBeCloseTo(exact, 4);
        expect(plain[i]).toBeCloseTo(exact, 4);
      });
    }),
    { numRuns: 60 },
  );
});

test('a shorter query is compared with the beginnings of the rows', () => {
  const scanner = new DotScanner(2, 20);
  scanner.set(0, new Float32Array(20).fill(9));
  scanner.set(
    1,
    Float32Array.from({ length: 20 }, (_, i) => (i < 11 ? 1 : 100)),
  );
  scanner.scan(new Float32Array(20).fill(7), Int32Array.of(0)); // leaves nothing behind
  expect([...scanner.scan(new Float32Array(11).fill(2), Int32Array.of(1))]).toEqual([22]);
});

test('WebAssembly is what computes it here', () => {
  const scanner = new DotScanner(1, 8);
  const plainly = jest.spyOn(scanner, 'scanPlainly');
  scanner.set(0, new Float32Array(8).fill(1));
  expect([...scanner.scan(new Float32Array(8).fill(2), Int32Array.of(0))]).toEqual([16]);
  expect(plainly).not.toHaveBeenCalled();
});

test('what a query was answered does not change with the next one', () => {
  const scanner = new DotScanner(1, 1);
  scanner.set(0, Float32Array.of(2));
  const first = scanner.scan(Float32Array.of(1), Int32Array.of(0));
  scanner.scan(Float32Array.of(9), Int32Array.of(0));
  expect([...first]).toEqual([2]);
});

test('where WebAssembly finds no room, JavaScript does it', () => {
  const { WebAssembly: wasm } = globalThis as unknown as { WebAssembly: { Memory: () => void } };
  const memory = jest.spyOn(wasm, 'Memory').mockImplementation(() => {
    throw new RangeError('could not allocate memory');
  });
  try {
    const scanner = new DotScanner(2, 3);
    scanner.set(1, Float32Array.of(1, 2, 3));
    expect([...scanner.scan(Float32Array.of(1, 1, 1), Int32Array.of(1, 0))]).toEqual([6, 0]);
  } finally {
    memory.mockRestore();
  }
});
