import { BlobStore } from './blob-store';
import { FileStore } from './file-store';
import type { ObjectStore } from './object-store';
import { Payloads } from './payloads';
import { PayloadReader } from './reader';
import { S3Store } from './s3-store';
import { Uploads } from './uploads';

/** `payloads` of the Config; durations in ms. */
export interface PayloadSettings {
  max_bytes: number;
  retention: number;
  upload_ttl: number;
  store: {
    type: 'files' | 's3';
    directory: string;
    bucket?: string;
    endpoint?: string;
    region?: string;
    force_path_style?: boolean;
    prefix?: string;
  };
}

/** Large payloads of one tenant, the store they are in, and blobs of other kinds beside them. */
export interface PayloadPlatform {
  objects: ObjectStore;
  payloads: Payloads;
  /** Blobs of another kind: their references are no payloads. */
  area(name: string): BlobStore;
  /** Removes what is over its time; counts what stays. */
  sweep(signal?: AbortSignal): Promise<{ blobs: number; bytes: number; removed: number }>;
  close(): Promise<void>;
}

/** Opens the store that the settings name. Nothing is written, and nothing asked, before the first large payload. */
export function createPayloads(settings: PayloadSettings, tenant: string): PayloadPlatform {
  const objects = createObjectStore(settings.store);
  const scope = { objects, retentionMs: settings.retention };
  const blobs = new BlobStore({ ...scope, area: `${tenant}/payloads` });
  const reader = new PayloadReader(undefined, settings.max_bytes);
  const limits = { maxBytes: settings.max_bytes, ttlMs: settings.upload_ttl };
  const uploads = new Uploads({ objects, blobs, reader, area: `${tenant}/uploads`, ...limits });
  const payloads = new Payloads({ blobs, uploads, reader, maxBytes: settings.max_bytes });
  return {
    objects,
    payloads,
    area: (name) => new BlobStore({ ...scope, area: `${tenant}/${name}` }),
    async sweep(signal) {
      if (objects instanceof FileStore) await objects.removeScratch(new Date().getTime());
      const dropped = await uploads.sweep(signal);
      const counted = await blobs.sweep(signal);
      return { ...counted, removed: counted.removed + dropped };
    },
    async close() {
      await payloads.close();
      objects.close();
    },
  };
}

function createObjectStore({
  type,
  directory,
  bucket = '',
  endpoint,
  region,
  force_path_style,
  prefix,
}: PayloadSettings['store']): ObjectStore {
  if (type === 'files') return new FileStore(directory);
  return new S3Store({ bucket, endpoint, region, forcePathStyle: force_path_style, prefix });
}
