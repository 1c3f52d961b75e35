import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/**
 * SHA-256 over the names and contents of the given folders (all files in them but unit tests, which are not built) and
 * files. By content, not by time: a checkout of another branch changes times of files that are the same.
 */
export function hashTree(root, folders, files) {
  const hash = createHash('sha256');
  const found = folders.flatMap((folder) => filesUnder(root, folder));
  for (const path of [...found, ...files].sort()) {
    if (existsSync(join(root, path)))
      hash
        .update(`${path}\0`)
        .update(readFileSync(join(root, path)))
        .update('\0');
  }
  return hash.digest('hex');
}

function filesUnder(root, folder) {
  if (!existsSync(join(root, folder))) return [];
  return readdirSync(join(root, folder), { withFileTypes: true, recursive: true })
    .filter((entry) => entry.isFile() && !entry.name.endsWith('.test.ts'))
    .map((entry) => join(entry.parentPath ?? entry.path, entry.name).slice(root.length + 1));
}
