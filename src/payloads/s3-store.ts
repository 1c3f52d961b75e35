import { Readable } from 'node:stream';
import type * as sdkModule from '@aws-sdk/client-s3';
import type { GetObjectCommandOutput, S3Client } from '@aws-sdk/client-s3';
import type { ObjectInfo, ObjectStore } from './object-store';
import { errorCodeOf, storageFull, storeUnusable } from './storage-errors';

/** Where the bucket is. Credentials come from the environment, as every AWS tool reads them. */
export interface S3StoreOptions {
  bucket: string;
  /** Of a server that is not AWS, such as `http://127.0.0.1:9000`. */
  endpoint?: string;
  region?: string;
  /** Bucket in the path instead of the host name; most servers that are not AWS want that. */
  forcePathStyle?: boolean;
  /** Before every key, so that one bucket can serve several platforms. */
  prefix?: string;
  /** A server that says nothing for so long is given up, ms; default 20,000. Each operation is tried three times. */
  silenceMs?: number;
}

type Sdk = typeof sdkModule;

/** Metadata by which an object is kept beyond its own age, Unix ms. */
const NEEDED_UNTIL = 'needed-until-ms';
const CONNECT_TIMEOUT_MS = 2_000;
/** From the first byte of a request to the first of its answer, the way there of a large object included. */
const REQUEST_TIMEOUT_MS = 30_000;
/** Without a byte in either direction; a reader that takes nothing for so long counts as well. */
const SILENCE_MS = 20_000;

/**
 * Objects in an S3-compatible bucket. The mark of the last use is the object's own modification time, renewed by copying the
 * object onto itself; a later one is kept as metadata. The SDK is loaded with the first operation.
 */
export class S3Store implements ObjectStore {
  readonly name: string;
  private loaded: Promise<{ sdk: Sdk; client: S3Client }> | undefined;
  private readonly prefix: string;

  constructor(private readonly options: S3StoreOptions) {
    this.prefix = options.prefix ? `${options.prefix.replace(/\/+$/, '')}/` : '';
    this.name = `bucket ${options.bucket}${options.endpoint ? ` at ${new URL(options.endpoint).host}` : ''}`;
  }

  async put(key: string, content: Uint8Array, { ifAbsent = false } = {}): Promise<boolean> {
    return this.ask('write', async ({ sdk, client }) => {
      const object = { ...this.at(key), Body: content, ...(ifAbsent && { IfNoneMatch: '*' }) };
      try {
        await client.send(new sdk.PutObjectCommand(object));
        return true;
      } catch (caught) {
        if (ifAbsent && (statusOf(caught) === 412 || statusOf(caught) === 409)) return false;
        throw caught;
      }
    });
  }

  async get(key: string): Promise<Buffer | null> {
    return this.ask('read', async (s3) => {
      const body = await this.bodyOf(s3, key);
      return body && Buffer.from(await body.transformToByteArray());
    });
  }

  async readInto(key: string, target: Uint8Array): Promise<number | null> {
    const content = await this.get(key);
    return content && content.copy(target);
  }

  async stream(key: string, range?: { start: number; end: number }): Promise<Readable | null> {
    if (range && range.end <= range.start) return (await this.info(key)) && Readable.from([]);
    const bytes = range && `bytes=${range.start}-${range.end - 1}`;
    // In Node the body is a stream of Node's.
    return this.ask('read', async (s3) => (await this.bodyOf(s3, key, bytes)) as unknown as Readable | null);
  }

  async info(key: string): Promise<ObjectInfo | null> {
    return this.ask('read', async ({ sdk, client }) => {
      const found = await absentAsNull(client.send(new sdk.HeadObjectCommand(this.at(key))));
      if (found === null) return null;
      const untilMs = Number(found.Metadata?.[NEEDED_UNTIL] ?? 0);
      return { key, bytes: found.ContentLength ?? 0, usedMs: Math.max(found.LastModified?.getTime() ?? 0, untilMs) };
    });
  }

  async touch(key: string, usedMs: number): Promise<boolean> {
    const found = await this.info(key);
    if (found === null) return false;
    if (found.usedMs >= usedMs) return true;
    return this.ask('write', async ({ sdk, client }) => {
      const { Bucket, Key } = this.at(key);
      const copy = new sdk.CopyObjectCommand({
        Bucket,
        Key,
        CopySource: `${Bucket}/${Key}`,
        MetadataDirective: 'REPLACE',
        Metadata: { [NEEDED_UNTIL]: String(Math.ceil(usedMs)) },
      });
      return (await absentAsNull(client.send(copy))) !== null;
    });
  }

  async *list(prefix: string): AsyncIterable<ObjectInfo> {
    let token: string | undefined;
    do {
      const page = await this.ask('list', ({ sdk, client }) =>
        client.send(
          new sdk.ListObjectsV2Command({
            Bucket: this.options.bucket,
            Prefix: this.prefix + prefix,
            ContinuationToken: token,
          }),
        ),
      );
      for (const { Key = '', Size = 0, LastModified } of page.Contents ?? [])
        yield { key: Key.slice(this.prefix.length), bytes: Size, usedMs: LastModified?.getTime() ?? 0 };
      token = page.NextContinuationToken;
    } while (token !== undefined);
  }

  /** S3 cannot delete on a condition of age: the object is looked at right before. */
  async delete(key: string, { unusedSinceMs = Infinity }: { unusedSinceMs?: number } = {}): Promise<boolean> {
    const found = await this.info(key);
    if (found === null || found.usedMs >= unusedSinceMs) return false;
    return this.ask('remove', async ({ sdk, client }) => {
      await client.send(new sdk.DeleteObjectCommand(this.at(key)));
      return true;
    });
  }

  close(): void {
    void this.loaded?.then(({ client }) => client.destroy()).catch(() => undefined);
  }

  private at(key: string): { Bucket: string; Key: string } {
    return { Bucket: this.options.bucket, Key: this.prefix + key };
  }

  private async bodyOf({ sdk, client }: { sdk: Sdk; client: S3Client }, key: string, range?: string) {
    const command = new sdk.GetObjectCommand({ ...this.at(key), ...(range && { Range: range }) });
    const found: GetObjectCommandOutput | null = await absentAsNull(client.send(command));
    return found?.Body ?? null;
  }

  private async ask<T>(what: string, run: (s3: { sdk: Sdk; client: S3Client }) => Promise<T>): Promise<T> {
    try {
      return await run(await (this.loaded ??= this.load()));
    } catch (caught) {
      if (statusOf(caught) === 507 || FULL.has(errorCodeOf(caught))) throw storageFull(caught);
      throw storeUnusable(what, caught);
    }
  }

  private async load(): Promise<{ sdk: Sdk; client: S3Client }> {
    const sdk = await import('@aws-sdk/client-s3');
    const { endpoint, region = 'us-east-1', forcePathStyle, silenceMs = SILENCE_MS } = this.options;
    const client = new sdk.S3Client({
      region,
      ...(endpoint && { endpoint }),
      ...(forcePathStyle !== undefined && { forcePathStyle }),
      requestHandler: {
        connectionTimeout: CONNECT_TIMEOUT_MS,
        requestTimeout: REQUEST_TIMEOUT_MS,
        // Else the handler only warns of it, and waits on.
        throwOnRequestTimeout: true,
        socketTimeout: silenceMs,
      },
      // Servers that are not AWS may not know the newer checksums; our keys are checksums themselves.
      requestChecksumCalculation: 'WHEN_REQUIRED',
      responseChecksumValidation: 'WHEN_REQUIRED',
    });
    return { sdk, client };
  }
}

/** What servers answer when a disk or a quota is full; MinIO's own names among them. */
const FULL: ReadonlySet<string> = new Set([
  'XMinioStorageFull',
  'QuotaExceeded',
  'InsufficientStorage',
  'EntityTooLarge',
]);

function statusOf(caught: unknown): number | undefined {
  return (caught as { $metadata?: { httpStatusCode?: number } } | null)?.$metadata?.httpStatusCode;
}

async function absentAsNull<T>(asked: Promise<T>): Promise<T | null> {
  try {
    return await asked;
  } catch (caught) {
    const named = ['NoSuchKey', 'NotFound'].includes(errorCodeOf(caught));
    if (named && statusOf(caught) !== undefined) return null;
    throw caught;
  }
}
