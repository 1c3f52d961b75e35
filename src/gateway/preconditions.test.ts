import { ReachError } from '../protocol/reach-error';
import { assertHolds, conflictOf } from './preconditions';

const now = { etag: '"now"', exists: true };

it.each([
  [{ ifMatch: ['"before"'] }, 'has changed since it was read'],
  [{ ifNoneMatch: 'any' as const }, 'is there already'],
])('%j: says of the route table what is so and what to do', (asked, what) => {
  expect.assertions(3);
  try {
    assertHolds(asked, now);
  } catch (caught) {
    const { code, message } = ReachError.from(caught);
    expect(code).toBe('context_conflict');
    expect(message).toBe(
      `The route table ${what}, so nothing was written; read it (GET /v1/routes), merge your change into it, and PUT that with its ETag as If-Match`,
    );
    expect(conflictOf(caught)).toMatchObject({ etag: '"now"' });
  }
});

it('holds for the table that was read', () => {
  expect(() => assertHolds({ ifMatch: ['"now"'] }, now)).not.toThrow();
  expect(() => assertHolds({ ifNoneMatch: 'any' }, { ...now, exists: false })).not.toThrow();
});
