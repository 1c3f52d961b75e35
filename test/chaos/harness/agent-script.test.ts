import { markOf } from './agent-script';

const script = { plan: ['error' as const], work_ms: 5, tag: 't', ballast: 'x'.repeat(1_000) };

it('marks a payload the same whoever writes its members in whatever order', () => {
  const { plan, work_ms, tag, ballast } = script;
  expect(markOf({ ballast, tag, work_ms, plan })).toBe(markOf(script));
  expect(markOf({ ...script, mode: undefined })).toBe(markOf(JSON.parse(JSON.stringify(script))));
  expect(markOf(script)).toMatch(/^t#[0-9a-f]{12}$/);
});

it.each<[what: string, other: unknown]>([
  ['another tag', { ...script, tag: 'u' }],
  ['another last character of the ballast', { ...script, ballast: `${'x'.repeat(999)}y` }],
  ['a member that got lost', { plan: script.plan, work_ms: 5, tag: 't' }],
  ['no payload', {}],
  ['none at all', undefined],
])('marks %s differently', (_what, other) => {
  expect(markOf(other)).not.toBe(markOf(script));
});
