import type { Request, Response } from 'express';
import { OPERATIONS } from '../protocol/openapi';
import type { ReachError } from '../protocol/reach-error';
import { knownQuery } from './known-query';

const check = knownQuery();

/** What the middleware does with a request: undefined where it lets it pass. */
function refusalOf(method: string, url: string): ReachError | undefined {
  const { pathname, searchParams } = new URL(url, 'http://gateway');
  const request = {
    method,
    baseUrl: '/v1',
    path: pathname.slice('/v1'.length),
    query: Object.fromEntries(searchParams),
  };
  let passed = false;
  try {
    check(request as unknown as Request, {} as Response, () => void (passed = true));
  } catch (caught) {
    return caught as ReachError;
  }
  expect(passed).toBe(true);
  return undefined;
}

const exampleOf = (path: string) => path.replaceAll(/\{[^{}]+\}/g, 'x1');
const operations = OPERATIONS.filter(({ path }) => path.startsWith('/v1'));

it.each(operations.map(({ method, path }) => [method.toUpperCase(), path]))(
  'an unknown parameter of %s %s is refused with its name',
  (method, path) => {
    const error = refusalOf(method, `${exampleOf(path)}?no_such_thing=1`);
    expect(error?.code).toBe('invalid_request');
    expect(error?.options.errors).toEqual([expect.objectContaining({ pointer: '/no_such_thing' })]);
  },
);

it.each(
  operations.flatMap(({ method, path, query }) => Object.keys(query?.shape ?? {}).map((name) => [method, path, name])),
)('%s %s takes %s', (method, path, name) => {
  expect(refusalOf(method.toUpperCase(), `${exampleOf(path)}?${name}=1`)).toBeUndefined();
});

it('names the parameter that was probably meant', () => {
  const [finding] = refusalOf('GET', '/v1/reaches?stauts=running')?.options.errors ?? [];
  expect(finding).toMatchObject({ pointer: '/stauts', fix: expect.stringContaining('status') });
  expect(refusalOf('GET', '/v1/agents?stauts=ready')?.message).toMatch(/\/stauts/);
});

it.each([
  ['HEAD', '/v1/reaches?stauts=x'],
  ['GET', '/V1/Reaches/?stauts=x'],
  ['POST', '/v1/reaches/x1:cancel?wait=3'],
  ['DELETE', '/v1/agents/a?versoin=1.0.0'],
])('%s %s is refused: there is no way round', (method, url) => {
  expect(refusalOf(method, url)?.code).toBe('invalid_request');
});

it.each([
  ['GET', '/v1/nothing/here?a=b'],
  ['PROPFIND', '/v1/agents?a=b'],
  ['GET', '/v1/agents'],
])('%s %s is for others to judge', (method, url) => {
  expect(refusalOf(method, url)).toBeUndefined();
});
