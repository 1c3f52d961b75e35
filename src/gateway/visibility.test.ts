import { fits, whoTerms } from './visibility';

const row = { ability: 'refund', agent_name: 'refund_agent', agent_version: '1.2.0', source_agent: null };

it('asks for an agent by name, or by name and version', () => {
  expect(whoTerms({ agent: 'refund_agent' })).toEqual(["ReachAgent = 'refund_agent'"]);
  const both = ["ReachAgent = 'refund_agent'", "ReachVersion = '1.2.0'"];
  expect(whoTerms({ agent: 'refund_agent#1.2.0' })).toEqual(both);
  expect(whoTerms({ agent: 'refund_agent#v1.2.0' })).toEqual(both);
  expect(whoTerms({ agent: "o'brien#1" })).toEqual(["ReachAgent = 'o\\'brien'", "ReachVersion = '1'"]);
});

it.each([
  ['refund_agent', true],
  ['refund_agent#1.2.0', true],
  ['refund_agent#v1.2.0', true],
  ['refund_agent#1.3.0', false],
  ['refund_agent#', false],
  ['other#1.2.0', false],
  [undefined, true],
])('a row fits %s: %s', (agent, expected) => expect(fits(row, { agent })).toBe(expected));
