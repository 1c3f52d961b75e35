/**
 * Starts one Temporal and one etcd for all suites; each suite keeps to its own task queue and key prefix. Suites
 * that stop or break an engine start their own.
 */
import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { SEARCH_ATTRIBUTES } from '../../workflows/search-attributes';
import { bundleWorkflowCode, DefaultLogger } from '@temporalio/worker';
import { startEtcd, startTemporal, type RunningEngine } from '../../src/engines';

declare global {
  // Read by global-teardown, which jest runs in the same process.
  var testEngines: { stop(): Promise<void> }[] | undefined;
}

export default async function globalSetup(): Promise<void> {
  const dataDir = mkdtempSync(join(tmpdir(), 'agent-reach-test-'));
  const temporal = await startTemporal({ dataDir: join(dataDir, 'temporal'), searchAttributes: SEARCH_ATTRIBUTES });
  const etcd = await startEtcd({ dataDir: join(dataDir, 'etcd') });
  writeFileSync(join(dataDir, 'README'), 'engines of one test run; safe to remove\n');
  const { code } = await bundleWorkflowCode({
    workflowsPath: require.resolve('../../workflows'),
    logger: new DefaultLogger('ERROR'),
  });
  process.env.AGENT_REACH_WORKFLOW_BUNDLE = join(dataDir, 'workflow-bundle.js');
  writeFileSync(process.env.AGENT_REACH_WORKFLOW_BUNDLE, code);
  process.env.TEST_TEMPORAL_ADDRESS = temporal.address;
  process.env.TEST_TEMPORAL_UI = temporal.uiUrl ?? '';
  process.env.TEST_ETCD_ADDRESS = etcd.address;
  globalThis.testEngines = [temporal, etcd] satisfies RunningEngine[];
}
