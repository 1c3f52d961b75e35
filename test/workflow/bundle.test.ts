import { workflowBundle } from '../support/temporal';

describe('the workflow bundle', () => {
  it('holds the workflow SDK and our pure rooms only', async () => {
    const { code } = await workflowBundle();
    const modules = [...code.matchAll(/node_modules\/((?:@[\w.-]+\/)?[\w.-]+)\//g)].map(([, name]) => name);
    const foreign = new Set(modules.filter((name) => !name?.startsWith('@temporalio/') && !['long', 'ms', 'nexus-rpc', 'headers-polyfill', 'protobufjs', 'events'].includes(name ?? '')));
    expect([...foreign]).toEqual([]);
  });
});
