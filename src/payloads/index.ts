/** Large payloads (R8): kept once by content, moved by reference, chunk by chunk. */
export { BlobStore, type BlobStoreOptions } from './blob-store';
export { createPayloads, type PayloadPlatform, type PayloadSettings } from './create-payloads';
export type { Patience } from './patience';
export type { ObjectInfo, ObjectStore } from './object-store';
export { Payloads, type KeptOutput, type PayloadSource } from './payloads';
export { Uploads, type UploadId, type UploadReceipt, type UploadState } from './uploads';
