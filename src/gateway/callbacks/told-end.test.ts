import { ReachError } from '../../protocol/reach-error';
import type { ReachView } from '../reach-view';
import { toldView } from './told-end';

const links = { self: '/v1/reaches/r-1', events: '/v1/reaches/r-1/events', temporal: null };
const known = { reach_id: 'r-1', message_id: 'm', agent_name: 'a', decision_id: 'd', trace_id: 't', replayed: false };
const bytes = (value: unknown) => Buffer.byteLength(JSON.stringify(value));
const LIMIT = 262_144;

const result = (output: object, more: object = {}) =>
  ({ ...known, status: 'completed', output, attempts: 1, ...more }) as unknown as ReachView;

it('tells what is small as it is', () => {
  const view = result({ answer: 'yes' }, { answer: 'yes' });
  expect(toldView(view, links)).toEqual({ status: 'completed', view });
});

it('tells a large output by its link', () => {
  // Four bytes a character: what counts are bytes.
  const told = toldView(result({ text: '😀'.repeat(LIMIT / 4) }, { answer: 'x'.repeat(10) }), links);
  expect(told).toEqual({
    status: 'completed',
    view: { ...known, status: 'completed', attempts: 1, output_omitted: true, links },
  });
});

it('tells an output that is kept elsewhere by its reference and its link', () => {
  const { view } = toldView(result({}, { output_ref: 'sha256:x:9' }), links);
  expect(view).toMatchObject({ output_ref: 'sha256:x:9', output_omitted: true, links });
  expect(view).not.toHaveProperty('output');
});

it('tells a failure with far too much to say in short', () => {
  const attempts = Array.from({ length: 1_000 }, (_, n) => ({ n, message: 'x'.repeat(1_000) }));
  const error = { ...new ReachError('agent_error', 'y'.repeat(LIMIT)).toProblem(), attempts };
  const told = toldView({ ...known, status: 'dead_lettered', attempts, error, links } as unknown as ReachView, links);
  expect(bytes(told.view)).toBeLessThan(LIMIT);
  expect(told.view).toMatchObject({ status: 'dead_lettered', attempts: [], error: { code: 'agent_error' } });
  expect(told.view).not.toHaveProperty('output_omitted');
});
