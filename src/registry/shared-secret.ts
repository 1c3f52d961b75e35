import { ReachError } from '../protocol/reach-error';
import { callEtcd } from './etcd/etcd-client';
import { absent, getOp, putOp, readOf } from './etcd/etcd-ops';
import { Keyspace } from './keys';
import { DEFAULT_KEY_PREFIX, type RegistryOptions } from './registry';

/**
 * A secret that all processes of the platform share without being configured: the first one makes it, the others
 * read it. It lies in etcd in the clear, so whoever may read etcd has it; configure secrets where that is not wanted.
 *
 * @param name which secret; digits, letters, `-`
 * @param create called when there is none yet
 * @throws ReachError `engine_unavailable`; `internal` when what lies there cannot be read
 */
export async function sharedSecret(
  { etcd, keyPrefix = DEFAULT_KEY_PREFIX, tenant }: Pick<RegistryOptions, 'etcd' | 'keyPrefix' | 'tenant'>,
  name: string,
  create: () => Uint8Array,
): Promise<Uint8Array> {
  const key = new Keyspace(keyPrefix, tenant).secret(name);
  return callEtcd(`reading the shared secret ${name}`, async () => {
    // An etcd that is out of space refuses every transaction that might write; nobody could start then.
    const { kvs } = await etcd.kv.range({ key: Buffer.from(key) });
    if (kvs[0] !== undefined) return decode(kvs[0].value, key);
    const value = JSON.stringify({ v: 1, secret: Buffer.from(create()).toString('base64') });
    const response = await etcd.kv.txn({ compare: [absent(key)], success: [putOp(key, value)], failure: [getOp(key)] });
    return decode(response.succeeded ? Buffer.from(value) : readOf(response, 0)[0]?.value, key);
  });
}

function decode(value: Buffer | undefined, key: string): Uint8Array {
  try {
    const { v, secret } = JSON.parse(String(value)) as { v: unknown; secret: unknown };
    if (v === 1 && typeof secret === 'string' && secret !== '') return Buffer.from(secret, 'base64');
  } catch {
    // Told below, without the value.
  }
  throw new ReachError('internal', `The value of ${key} in etcd cannot be read; delete it to have a new one made`);
}
