import { randomUUID } from 'node:crypto';
import { startGateway, type TestGateway } from '../support/gateway';
import { cli } from './cli-io';

let gateway: TestGateway;
let id: string;

beforeAll(async () => {
  gateway = await startGateway({ withWorker: false });
});
afterAll(() => gateway?.close());
beforeEach(() => {
  id = `cli-${randomUUID()}`;
});

const context = (args: string[], options: Parameters<typeof cli>[1] = {}) =>
  cli(['context', ...args], { env: { AGENT_REACH_URL: gateway.url }, ...options });
const patch = (...args: string[]) => context(['patch', id, ...args]);
const fields = async () => JSON.parse((await context(['get', id, '--json'])).out).fields;

it('sets, appends, deletes and shows', async () => {
  expect(
    await patch('--set', 'a={"x":1}', '--set', 'b=2', '--append', 'log="one"', '--base-version', '0'),
  ).toMatchObject({
    code: 0,
    out: expect.stringMatching(/✓ a set, version \d+\n✓ b set, version \d+\n✓ log appended to, version \d+\n/),
  });
  const before = await fields();
  const change = ['--append', 'log="two"', '--delete', 'b', '--base-version', `b=${before.b.version}`];
  expect((await patch(...change)).out).toMatch(/✓ log appended to.*\n✓ b deleted\n/);
  expect((await patch('--set', 'a=null', '--force')).code).toBe(0);
  const { code, out } = await context(['get', id]);
  expect(code).toBe(0);
  expect(out).toMatch(
    /^FIELD +VERSION +WRITTEN +BY +VALUE\na +\d+ .+ local +null\nlog +\d+ .+ local +\["one","two"\]\n$/,
  );
  expect((await context(['get', id, '--field', 'log', '--json'])).out).not.toContain('"a"');
});

it('a conflict shows what was seen and what is there, and ends with 1', async () => {
  await patch('--set', 'a="theirs\u009b2J"', '--set', 'b=1', '--force');
  const { a } = await fields();
  const ran = await patch('--set', 'a="mine"', '--base-version', 'a=0', '--set', 'gone=1', '--base-version', 'gone=7');
  expect(ran).toMatchObject({ code: 1, out: '' });
  expect(ran.err).toMatch(new RegExp(`a +none +${a.version} +"theirs`));
  expect(ran.err).toMatch(/gone +7 +none/);
  expect(ran.err).not.toContain('\u009b');
  const asJson = await patch('--set', 'a="mine"', '--base-version', '0', '--json');
  expect(asJson.code).toBe(1);
  expect(JSON.parse(asJson.out)).toMatchObject({
    code: 'context_conflict',
    conflicts: [{ field: 'a', current_version: a.version }],
  });
});

it('takes a whole body, from stdin too', async () => {
  const body = JSON.stringify({ operations: [{ op: 'set', field: 'a', value: 1, base_version: 0 }] });
  expect((await patch('-p', body)).code).toBe(0);
  expect((await context(['patch', id, '-p', '-'], { stdin: body })).code).toBe(1);
});

it.each([
  [[], /say what to change/],
  [['--set', 'a=1'], /--base-version a=N/],
  [['--delete', 'a', '--base-version', 'b=1'], /--base-version a=N/],
  [['--set', 'a=text', '--force'], /text needs quotes/],
  [['--set', 'a=9007199254740993', '--force'], /cannot hold exactly/],
  [['--set', 'a', '--force'], /FIELD=JSON/],
  [['--set', 'a=1', '--force', '--base-version', '1'], /not both/],
  [['--set', 'a=1', '--base-version', '1.5'], /whole number/],
  [['--set', 'a=1', '--base-version', ''], /whole number/],
  [['-p', '{}', '--force'], /-p says everything/],
  [['-p', '[]'], /JSON object/],
  [['-p', '{"set":1}'], /"operations"/],
])('%j is a usage error', async (args, message) => {
  expect(await patch(...args)).toMatchObject({ code: 2, out: '', err: expect.stringMatching(message) });
});

it('says what is not there, and when nobody answers', async () => {
  expect(await context(['get', id])).toMatchObject({ code: 1, err: expect.stringMatching(/not_found/) });
  expect((await cli(['context', 'get', id, '--url', 'http://127.0.0.1:1'])).code).toBe(3);
});
