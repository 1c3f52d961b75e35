import { CallsUnderWay } from './calls-under-way';

const call = { runId: 'run', attempt: 1 };

it('knows a call from its beginning to its end', () => {
  const calls = new CallsUnderWay();
  expect(calls.has(call)).toBe(false);
  const end = calls.begin(call, new AbortController().signal);
  expect(calls.has(call)).toBe(true);
  expect(calls.has({ ...call, attempt: 2 })).toBe(false);
  expect(calls.has({ ...call, runId: 'another' })).toBe(false);
  end();
  expect(calls.has(call)).toBe(false);
});

it('does not speak for a call that was stopped, though it has not ended', () => {
  const calls = new CallsUnderWay();
  const stop = new AbortController();
  calls.begin(call, stop.signal);
  stop.abort();
  expect(calls.has(call)).toBe(false);
});

it('the end of an earlier execution of the same attempt does not end the later', () => {
  const calls = new CallsUnderWay();
  const endEarlier = calls.begin(call, new AbortController().signal);
  const endLater = calls.begin(call, new AbortController().signal);
  endEarlier();
  expect(calls.has(call)).toBe(true);
  endLater();
  expect(calls.has(call)).toBe(false);
});
