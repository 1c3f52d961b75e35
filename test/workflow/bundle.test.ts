import { readFileSync } from 'node:fs';
import { workflowBundle } from '../support/temporal';

describe('the workflow bundle', () => {
  it('holds the workflow SDK and our pure rooms only', () => {
    const code = readFileSync(workflowBundle().codePath, 'utf8');
    const modules = [...code.matchAll(/node_modules\/((?:@[\w.-]+\/)?[\w.-]+)\//g)].map(([, name]) => name);
    const foreign = new Set(
      modules.filter(
        (name) =>
          !name?.startsWith('@temporalio/') &&
          !['long', 'ms', 'nexus-rpc', 'headers-polyfill', 'protobufjs', 'events'].includes(name ?? ''),
      ),
    );
    expect([...foreign]).toEqual([]);
  });
});
