import { ERROR_TABLE, type ErrorCode } from '../../src/protocol/error-codes';
import type { Problem } from '../../src/protocol/reach-error';
import type { Answer } from './api';

/** Holds that an answer is the problem document (RFC 9457) of `code`, complete and with the table's status; hands it out. */
export function expectProblem(answer: Answer, code: ErrorCode): Problem {
  expect({
    status: answer.status,
    code: (answer.body as Problem | undefined)?.code,
    detail: (answer.body as Problem | undefined)?.detail ?? answer.text,
  }).toEqual({
    status: ERROR_TABLE[code].status,
    code,
    detail: expect.stringMatching(/\S/),
  });
  expect(answer.headers['content-type']).toMatch(/^application\/problem\+json/);
  const problem = answer.body as Problem;
  expect(problem).toMatchObject({
    type: expect.stringMatching(/\S/),
    title: expect.stringMatching(/\S/),
    status: answer.status,
    retryable: expect.any(Boolean),
    degraded: expect.any(Boolean),
  });
  // No stack, no file of ours, whatever went wrong.
  expect(answer.text).not.toMatch(/node_modules|\bat \S+ \(|\.ts:\d/);
  return problem;
}
