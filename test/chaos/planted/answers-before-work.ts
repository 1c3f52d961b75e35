/** Planted in workers: every fifth call is answered at once, and the agent does its work, or does not, when nobody waits any more. */
import { randomUUID } from 'node:crypto';
import { HttpAdapter } from '../../../src/adapters/http/http-adapter';

const EVERY = 5;
const { prototype } = HttpAdapter;
const { invoke } = prototype;
let calls = 0;

prototype.invoke = async function (...call) {
  calls += 1;
  if (calls % EVERY !== 0) return invoke.apply(this, call);
  invoke.apply(this, call).catch(() => undefined);
  return Promise.resolve({ kind: 'answer', output: { answer: 'done', output_id: randomUUID() } });
};
