// Puts a small and a large object, in a process whose files may not become large, and says what came of it.
const { readdirSync } = require('node:fs');
const { join, resolve } = require('node:path');

const { FileStore } = require(resolve(__dirname, '../../dist/src/payloads/file-store.js'));

async function main(directory) {
  const store = new FileStore(directory);
  const small = await store.put('a/small', Buffer.alloc(1_000, 1));
  const large = await store.put('a/large', Buffer.alloc(1_000_000, 1)).then(
    () => 'kept',
    (error) => error.code,
  );
  const info = await store.info('a/large');
  const scratch = readdirSync(join(directory, '.scratch'));
  process.stdout.write(JSON.stringify({ small, large, info, scratch }));
}

void main(process.argv[2]);
