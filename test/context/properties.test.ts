/** Any sequence of batches, against the model that the checker uses: one client, so there is but one order. */
import { randomUUID } from 'node:crypto';
import fc from 'fast-check';
import type { ContextOperation } from '../../src/protocol/context';
import type { Json } from '../../src/protocol/shapes';
import { checkLinearizable } from './linearizability/checker';
import { Recorder, type Input, type Output, type Subject } from './linearizability/history';
import { openContexts, type ContextPlace } from './support';

let place: ContextPlace;
beforeAll(() => {
  place = openContexts();
});
afterAll(() => place.close());

const field = fc.constantFrom('a', 'b', 'a/b', '工', 'constructor');
const json = fc.jsonValue({ maxDepth: 3, noUnicodeString: false }) as fc.Arbitrary<Json>;
const value = fc.oneof(json, fc.array(json, { maxLength: 4 }));
/** From what was seen last, from before that, or from nothing. */
const guard = fc.constantFrom('seen', 'stale', 'absent', 'force');

interface Draft {
  op: 'set' | 'append' | 'delete';
  field: string;
  value: Json;
  guard: 'seen' | 'stale' | 'absent' | 'force';
}
const draft: fc.Arbitrary<Draft> = fc.record({ op: fc.constantFrom('set', 'append', 'delete'), field, value, guard });
const act = fc.oneof(
  { weight: 10, arbitrary: fc.uniqueArray(draft, { minLength: 1, maxLength: 4, selector: (each) => each.field }) },
  { weight: 1, arbitrary: fc.constant('delete' as const) },
);

function operationOf(
  { op, field: name, value: written, guard: how }: Draft,
  seen: Record<string, number>,
): ContextOperation {
  if (op === 'append') return { op, field: name, value: written };
  const version = Object.hasOwn(seen, name) ? seen[name]! : 0;
  const base = { seen: version, stale: Math.max(0, version - 1), absent: 0, force: undefined }[how];
  const guarded = base === undefined ? { force: true } : { base_version: base };
  return op === 'set' ? { op, field: name, value: written, ...guarded } : { op, field: name, ...guarded };
}

const versionsIn = (output: Output): Record<string, number> =>
  output.kind === 'fields'
    ? Object.fromEntries(Object.entries(output.fields).map(([name, { version }]) => [name, version]))
    : {};

it('is what the model says it is', async () => {
  const subject: Subject = {
    get: (contextId) => place.store.get(contextId),
    patch: (contextId, operations) => place.store.patch({ contextId, operations, by: 'tester' }),
    delete: (contextId) => place.store.delete(contextId),
  };
  await fc.assert(
    fc.asyncProperty(fc.array(act, { minLength: 1, maxLength: 12 }), async (acts) => {
      const recorder = new Recorder();
      const key = randomUUID();
      const run = (input: Input) => recorder.run(subject, { client: 0, key, input });
      for (const each of acts) {
        const seen = versionsIn(await run({ kind: 'get' }));
        if (each === 'delete') await run({ kind: 'delete' });
        else await run({ kind: 'patch', operations: each.map((one) => operationOf(one, seen)) });
      }
      await run({ kind: 'get' });
      expect(checkLinearizable(recorder.operations)).toMatchObject({ linearizable: true });
    }),
    { numRuns: 60 },
  );
});
