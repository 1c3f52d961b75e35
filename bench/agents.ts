import type { DescriptorDraft } from '../src/protocol/descriptor';
import { topicOf } from './texts';

/** How many agents offer the abilities: each reach is routed among them. */
export const AGENT_COUNT = 20;

/** The ability declared `idempotent: true`, which may take the fast path, and the one that says nothing. */
export const ABILITIES = { idempotent: 'answer_idempotent', regular: 'answer' } as const;
export type AbilityName = (typeof ABILITIES)[keyof typeof ABILITIES];

const INPUT_SCHEMA = {
  type: 'object',
  required: ['text', 'n'],
  properties: { text: { type: 'string', minLength: 1 }, n: { type: 'integer' } },
};
const OUTPUT_SCHEMA = {
  type: 'object',
  required: ['answer', 'n', 'agent'],
  properties: { answer: { type: 'string' }, n: { type: 'integer' }, agent: { type: 'string' } },
};

/** Descriptors of agents that differ in name and topic and all live at the echo agent. */
export function descriptors(echoUrl: string): DescriptorDraft[] {
  return Array.from({ length: AGENT_COUNT }, (_, number) => descriptor(number, echoUrl));
}

function descriptor(number: number, echoUrl: string): DescriptorDraft {
  const name = `echo_${String(number + 1).padStart(2, '0')}`;
  const wording = { ...topicOf(number), input_schema: INPUT_SCHEMA, output_schema: OUTPUT_SCHEMA };
  return {
    name,
    version: '1.0.0',
    capabilities: [
      { name: ABILITIES.idempotent, ...wording, idempotent: true },
      { name: ABILITIES.regular, ...wording },
    ],
    endpoint: { protocol: 'http', address: `${echoUrl}/${name}` },
  };
}
