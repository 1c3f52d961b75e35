import { CreateBucketCommand, S3Client } from '@aws-sdk/client-s3';
import { S3Store } from '../../src/payloads/s3-store';
import { findS3Server, startS3Server, type S3Server } from './s3-server';
import { describeStore } from './store-contract';

const found = findS3Server();
const BUCKET = 'payloads';

if ('missing' in found) {
  describe.skip(`S3 (${found.missing})`, () => it.todo('keeps large payloads'));
} else {
  let server: S3Server;
  const before = { ...process.env };
  beforeAll(async () => {
    server = await startS3Server(found.program);
    Object.assign(process.env, { AWS_ACCESS_KEY_ID: 'test', AWS_SECRET_ACCESS_KEY: 'test' });
    const client = new S3Client({ endpoint: server.endpoint, forcePathStyle: true, region: 'us-east-1' });
    await client.send(new CreateBucketCommand({ Bucket: BUCKET }));
    client.destroy();
  });
  afterAll(async () => {
    process.env = before;
    await server.close();
  });

  describeStore(
    'S3',
    () => new S3Store({ bucket: BUCKET, endpoint: server.endpoint, forcePathStyle: true, prefix: 'a/b' }),
  );

  describe('S3 that cannot be used', () => {
    it('says that the bucket is not there', async () => {
      const store = new S3Store({ bucket: 'none', endpoint: server.endpoint, forcePathStyle: true });
      await expect(store.put('a/b', Buffer.from('x'))).rejects.toMatchObject({
        code: 'engine_unavailable',
        message: expect.stringContaining('NoSuchBucket'),
      });
      await expect(store.get('a/b')).rejects.toMatchObject({ code: 'engine_unavailable' });
      store.close();
    });

    it('says that nobody answers', async () => {
      const store = new S3Store({ bucket: BUCKET, endpoint: 'http://127.0.0.1:1', forcePathStyle: true });
      await expect(store.get('a/b')).rejects.toMatchObject({ code: 'engine_unavailable' });
      store.close();
    });
  });
}
