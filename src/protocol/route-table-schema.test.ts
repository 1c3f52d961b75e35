import { ReachError } from './reach-error';
import { parseRoutes } from './route-table-schema';

const route = (from: string) => ({ ability: 'refund', from, to: 'refund_agent#1.2.0', weight: 1 });

it('refuses * for a group, which would apply to nobody, and says what to write', () => {
  expect.assertions(3);
  try {
    parseRoutes({ routes: [route('default'), route('*')] });
  } catch (caught) {
    const { code, message, options } = ReachError.from(caught);
    expect(code).toBe('invalid_request');
    expect(options.errors).toEqual([
      {
        pointer: '/routes/1/from',
        message: expect.stringContaining('no wildcard'),
        fix: expect.stringMatching(/"default".*one by one/),
      },
    ]);
    expect(message).toContain('/routes/1/from is "*"');
  }
});

it('takes any other group', () => {
  const routes = ['default', 'beta', '**', 'x*'].map(route);
  expect(parseRoutes({ routes })).toEqual(routes);
});
