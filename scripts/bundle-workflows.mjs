// Bundles the compiled workflows once, at build time, so that each worker starts without webpack.
import { existsSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const dist = join(dirname(dirname(fileURLToPath(import.meta.url))), 'dist');
const workflowsPath = join(dist, 'workflows', 'index.js');

if (existsSync(workflowsPath)) {
  const { bundleWorkflowCode, DefaultLogger } = createRequire(import.meta.url)('@temporalio/worker');
  const { code } = await bundleWorkflowCode({ workflowsPath, logger: new DefaultLogger('ERROR') });
  // One character beyond Latin-1 would double the memory that the text takes, in the worker and in its workflow thread.
  const plain = code.replace(/[^\0-\xff]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`);
  writeFileSync(join(dist, 'workflow-bundle.js'), plain);
}
