import { agent, request } from '../../test/routing/fixtures';
import type { DescriptorDraft } from '../protocol/descriptor';
import type { Json } from '../protocol/shapes';
import { fallbackFor } from './index';

const offering = (name: string, version: string, fallback?: Json, extra: Partial<DescriptorDraft> = {}) =>
  agent(
    {
      name,
      version,
      capabilities: [{ name: 'work', ...(fallback !== undefined && { fallback }) }, { name: 'rest' }],
      ...extra,
    },
    [],
  );

const agents = [
  offering('c', '1.0.0', { from: 'c' }),
  offering('b', '1.9.0', { from: 'b 1.9' }),
  offering('b', '1.10.0', { from: 'b 1.10' }),
  offering('b', '2.0.0-rc.1', { from: 'b rc' }),
  offering('a', '1.0.0'),
];
const fallback = (overrides: object, among = agents) =>
  fallbackFor({ agents: among }, request({ ability: 'work', ...overrides }))?.fallback;

test('the first by name that declares one, in its highest version, whatever the order of the registry', () => {
  for (const listed of [agents, agents.toReversed()]) {
    expect(fallback({}, listed)).toEqual({ output: { from: 'b 1.10' } });
  }
});

test.each([
  [{ target_agent: 'c' }, { output: { from: 'c' } }],
  [{ target_agent: 'b#v1.9.0' }, { output: { from: 'b 1.9' } }],
  [{ target_agent: 'b#2.0.0-rc.1' }, { output: { from: 'b rc' } }],
  [{ target_agent: 'b', version: '~1.9.0' }, { output: { from: 'b 1.9' } }],
  [{ version: '^3.0.0' }, undefined],
  [{ target_agent: 'a' }, undefined],
  [{ target_agent: 'nobody' }, undefined],
  [{ ability: 'rest' }, undefined],
  [{ ability: 'toString' }, undefined],
  [{ ability: '*' }, undefined],
  [{ ability: undefined, target_agent: 'b' }, undefined],
])('%j → %j', (overrides, expected) => {
  expect(fallback(overrides)).toEqual(expected);
});

test('the only ability of a named agent need not be named', () => {
  const single = offering('s', '1.0.0', undefined, { capabilities: [{ name: 'work', fallback: 'b' }] });
  expect(fallback({ ability: undefined, target_agent: 's' }, [single])).toEqual({ agent: 'b' });
});

test('nobody stands in for itself', () => {
  const own = offering('a', '1.0.0', 'a');
  expect(fallback({ target_agent: 'a' }, [own])).toBeUndefined();
  expect(fallback({}, [own])).toEqual({ agent: 'a' });
});

test('what cannot be read is refused as route refuses it', () => {
  expect(() => fallback({ version: 'v1' })).toThrow(expect.objectContaining({ code: 'invalid_request' }));
});
