import { createColors } from 'picocolors';
import { ReachError } from '../../protocol/reach-error';
import { renderConflicts } from './context';
import { renderError } from './error';

const io = { columns: undefined, color: createColors(false) };
const conflict = { field: 'a', base_version: 3, current_version: 7, current_value: null };
const href = '/v1/contexts/ticket-4711?fields=a';

it('says how large a value is that no answer repeats, and where to read it', () => {
  const told = renderConflicts([{ ...conflict, current_value_ref: { bytes: 2_621_440, href } }], io);
  expect(told).toMatch(
    /^a +3 +7 +2\.5 MiB, stored as a blob; read it with GET \/v1\/contexts\/ticket-4711\?fields=a$/m,
  );
  expect(told).not.toContain('null');
});

it('shows a value that is there, null too, and nothing where no field is', () => {
  expect(renderConflicts([conflict], io)).toMatch(/^a +3 +7 +null$/m);
  expect(renderConflicts([{ ...conflict, current_version: 0 }], io)).toMatch(/^a +3 +none$/m);
});

it('tells a conflict once: as a table, not as findings too', () => {
  const errors = [
    { pointer: '/operations/0/base_version', message: 'base_version is 3, but the field is at version 7' },
  ];
  const error = new ReachError('context_conflict', 'Field "a" is not at the base version', {
    errors,
    extra: { conflicts: [conflict] },
  });
  const told = renderError(error, io.color);
  expect(told).toContain('Field "a" is not at the base version');
  expect(told).not.toContain('/operations/0');
});
