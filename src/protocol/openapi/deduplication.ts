/** `/v1/agents/{name}/deduplication:…`: what agents have done already. */
import { z } from 'zod';
import {
  deduplicationBeginAnswerSchema,
  deduplicationBeginSchema,
  deduplicationCompleteAnswerSchema,
  deduplicationCompleteSchema,
} from '../deduplication';
import { BODY_PROBLEMS, json, type Operation } from './operation';

const params = z.object({ name: z.string().meta({ description: "The agent's name.", example: 'refund_agent' }) });
const key = 'f2ca1bb6c7e907d06dafe4687e579fce76b37e4e93b7605022da52e6ccc26fd2';
const fence = '1767225600000000001';

/** Operations of the platform's deduplication store. */
export const DEDUPLICATION_OPERATIONS: Operation[] = [
  {
    method: 'post',
    path: '/v1/agents/{name}/deduplication:begin',
    id: 'beginDelivery',
    tag: 'agents',
    summary: 'Look up what was recorded under a business key, and claim it',
    description:
      'With a `fence` the key is claimed for this attempt, unless a greater fence holds it. Safe to repeat. `ReachAgent` calls this by itself.',
    params,
    body: json(deduplicationBeginSchema, {
      look: { key, ttl_ms: 86_400_000 },
      claim: { key, fence, ttl_ms: 86_400_000 },
    }),
    answers: { 200: { description: 'What is known', body: json(deduplicationBeginAnswerSchema) } },
    problems: [...BODY_PROBLEMS, 'agent_not_found'],
  },
  {
    method: 'post',
    path: '/v1/agents/{name}/deduplication:complete',
    id: 'completeDelivery',
    tag: 'agents',
    summary: 'Record the one result of a business key',
    description:
      'Recorded only if nothing is recorded yet and no greater fence holds the claim; a recorded output is never replaced. Safe to repeat.',
    params,
    body: json(deduplicationCompleteSchema, {
      refund: { key, fence, output: { answer: 'Your refund was booked.' }, ttl_ms: 86_400_000 },
    }),
    answers: { 200: { description: 'Whether it is the result', body: json(deduplicationCompleteAnswerSchema) } },
    problems: [...BODY_PROBLEMS, 'agent_not_found'],
  },
];
