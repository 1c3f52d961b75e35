import { randomBytes } from 'node:crypto';
import { CallbackSigner, secretText } from '../protocol/callback-signature';
import { verifyCallback } from './callback';

const secret = secretText(randomBytes(32));
const other = secretText(randomBytes(32));
const body = JSON.stringify({
  type: 'reach.completed',
  timestamp: '2026-05-04T08:30:00.000Z',
  data: { reach_id: 'r-1', text: 'é' },
});
const signed = (secrets = [secret], at = new Date(), text = body) => ({
  ...new CallbackSigner(secrets).sign('cb-1', at, text),
});
const minutesAgo = (minutes: number) => new Date(Date.now() - minutes * 60_000);

describe('verifyCallback', () => {
  it.each([
    ['text', body],
    ['bytes', Buffer.from(body)],
    ['an array of bytes', new Uint8Array(Buffer.from(body))],
  ])('takes %s as they came, and hands out the event with its id', (_what, raw) => {
    expect(verifyCallback(raw, signed(), secret)).toEqual({ id: 'cb-1', ...JSON.parse(body) });
  });

  it.each([
    ['of Fetch', new Headers(signed())],
    ['in other case', Object.fromEntries(Object.entries(signed()).map(([name, value]) => [name.toUpperCase(), value]))],
    ['that are repeated', { ...signed(), 'webhook-id': ['cb-1'], accept: undefined }],
  ])('reads headers %s', (_what, headers) => {
    expect(verifyCallback(body, headers, secret).id).toBe('cb-1');
  });

  it('takes a result that is as deep as one may be', () => {
    const output = `${'['.repeat(63)}${']'.repeat(63)}`;
    const deep = `{"type":"reach.completed","timestamp":"2026-05-04T08:30:00.000Z","data":{"output":{"a":${output}}}}`;
    const verified = verifyCallback(deep, signed([secret], new Date(), deep), secret);
    expect(JSON.stringify(verified.data)).toContain(output);
  });

  it('takes either key while they rotate, on either side', () => {
    expect(verifyCallback(body, signed([other, secret]), secret).id).toBe('cb-1');
    expect(verifyCallback(body, signed([secret]), [other, secret]).id).toBe('cb-1');
  });

  it.each([
    ['altered', body.replace('r-1', 'r-2'), signed(), secret],
    ['written anew', JSON.stringify(JSON.parse(body), null, 1), signed(), secret],
    ['signed with another key', body, signed([other]), secret],
    ['too old', body, signed([secret], minutesAgo(5.5)), secret],
    ['from the future', body, signed([secret], minutesAgo(-5.5)), secret],
    ['with another id', body, { ...signed(), 'webhook-id': 'cb-2' }, secret],
    [
      'with another time',
      body,
      { ...signed(), 'webhook-timestamp': String(Math.floor(Date.now() / 1000) - 30) },
      secret,
    ],
    ['without a signature', body, { ...signed(), 'webhook-signature': undefined }, secret],
    ['without an id', body, { ...signed(), 'webhook-id': undefined }, secret],
    [
      'of another version',
      body,
      { ...signed(), 'webhook-signature': signed()['webhook-signature'].replace('v1,', 'v2,') },
      secret,
    ],
  ])('refuses one that is %s', (_what, raw, headers, key) => {
    expect(() => verifyCallback(raw, headers, key)).toThrow(expect.objectContaining({ code: 'unauthorized' }));
  });

  it('takes one within five minutes', () => {
    expect(verifyCallback(body, signed([secret], minutesAgo(4.5)), secret).id).toBe('cb-1');
  });

  it.each([[[]], [['']], [[secret, '']]])('does not run with secrets that are none: %j', (secrets) => {
    expect(() => verifyCallback(body, signed(), secrets)).toThrow(RangeError);
  });
});
