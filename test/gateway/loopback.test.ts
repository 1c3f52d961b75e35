import { startGateway, type TestGateway } from '../support/gateway';
import { request } from 'node:http';

let gateway: TestGateway;
beforeAll(async () => {
  gateway = await startGateway();
});
afterAll(() => gateway.close());

/** fetch would not let a test choose its Host. */
function status(headers: Record<string, string>): Promise<number | undefined> {
  return new Promise((resolve, reject) => {
    const call = request(`${gateway.url}/v1/agents`, { headers }, (response) => {
      response.resume();
      resolve(response.statusCode);
    });
    call.on('error', reject).end();
  });
}

describe('a gateway without an API key', () => {
  it.each([
    [{}, 200],
    [{ host: 'localhost:8080' }, 200],
    [{ host: '[::1]:8080' }, 200],
    [{ origin: 'http://localhost:3000' }, 200],
    [{ host: 'evil.example' }, 403],
    [{ host: '127.0.0.1.evil.example' }, 403],
    [{ origin: 'https://evil.example' }, 403],
    [{ origin: 'null' }, 403],
  ])('answers %j with %i', async (headers, expected) => {
    await expect(status(headers as Record<string, string>)).resolves.toBe(expected);
  });
});
