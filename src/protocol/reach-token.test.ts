import { randomBytes } from 'node:crypto';
import { SignJWT, UnsecuredJWT } from 'jose';
import { ReachTokens } from './reach-token';

const secret = randomBytes(32);
const tokens = new ReachTokens(secret);
const claims = { reachId: 'r-1', runId: 'run', attempt: 2, nested: null };
const refused = expect.objectContaining({ code: 'unauthorized' }) as unknown;

describe('reach tokens', () => {
  it('stand for one attempt of one run of one reach', async () => {
    const token = tokens.issue({ ...claims, lifetimeMs: 1_000 });
    await expect(tokens.verify(token, 'r-1')).resolves.toEqual(claims);
    await expect(tokens.verify(token, 'r-2')).rejects.toEqual(refused);
  });

  it('end', async () => {
    const token = tokens.issue({ ...claims, lifetimeMs: -120_000 });
    await expect(tokens.verify(token, 'r-1')).rejects.toEqual(refused);
  });

  it.each([
    ['nothing', async () => ''],
    ['text', async () => 'x.y.z'],
    ['an unsigned token', async () => new UnsecuredJWT({ run: 'run', att: 2 }).setSubject('r-1').encode()],
    ['another secret', () => new ReachTokens(randomBytes(32)).issue({ ...claims, lifetimeMs: 1_000 })],
    [
      'another audience',
      async () => new SignJWT({}).setProtectedHeader({ alg: 'HS256' }).setSubject('r-1').setAudience('x').sign(secret),
    ],
    [
      'another algorithm',
      async () =>
        new SignJWT({})
          .setProtectedHeader({ alg: 'HS512' })
          .setSubject('r-1')
          .setAudience('agent-reach/reach')
          .sign(secret),
    ],
  ])('refuse %s', async (_what, make: () => string | Promise<string>) => {
    await expect(tokens.verify(await make(), 'r-1')).rejects.toEqual(refused);
  });

  it('need a secret of 32 bytes', () => {
    expect(() => new ReachTokens(randomBytes(31))).toThrow(RangeError);
  });
});
