import { randomBytes } from 'node:crypto';
import { sharedSecret } from '../../src/registry';
import { openPlace, refusal, type Place } from './support';

let place: Place;
beforeEach(() => {
  place = openPlace();
});
afterEach(() => place.close());

it('is made once, however many processes ask at the same time', async () => {
  const secrets = await Promise.all(
    Array.from({ length: 10 }, () => sharedSecret(place.options, 'reach-token', () => randomBytes(32))),
  );
  expect(new Set(secrets.map((secret) => Buffer.from(secret).toString('hex'))).size).toBe(1);
  expect(secrets[0]).toHaveLength(32);
  expect(await sharedSecret({ ...place.options, tenant: 'other' }, 'reach-token', () => randomBytes(32))).not.toEqual(
    secrets[0],
  );
});

it('says which key to delete when what lies there cannot be read, without showing it', async () => {
  await place.etcd.put(`${place.options.keyPrefix}/default/secret/reach-token`).value('hush');
  const error = await refusal(sharedSecret(place.options, 'reach-token', () => randomBytes(32)));
  expect(error.code).toBe('internal');
  expect(error.message).toContain('/default/secret/reach-token');
  expect(error.message).not.toContain('hush');
});
