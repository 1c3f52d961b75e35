/** deploy/temporal/prepare-namespace.sh, run for real against the Temporal server of the tests. */
import { execFile } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { delimiter, dirname } from 'node:path';
import { promisify } from 'node:util';
import { Connection } from '@temporalio/client';
import { locateEngine } from '../../src/engines';
import { SEARCH_ATTRIBUTES } from '../../workflows/search-attributes';
import { temporalAddress } from '../support/temporal';
import { pathOf } from './files';

const run = promisify(execFile);
const namespace = `deploy-${randomUUID()}`;

async function prepare(retention: string): Promise<string> {
  const { path } = await locateEngine('temporal', {});
  const { stdout } = await run('sh', [pathOf('deploy/temporal/prepare-namespace.sh')], {
    timeout: 60_000,
    env: {
      ...process.env,
      PATH: `${dirname(path)}${delimiter}${process.env.PATH}`,
      TEMPORAL_ADDRESS: temporalAddress(),
      TEMPORAL_NAMESPACE: namespace,
      RETENTION: retention,
    },
  });
  return stdout;
}

it('makes a namespace with the retention and the search attributes, and may be run again', async () => {
  const connection = await Connection.connect({ address: temporalAddress() });
  const retentionDays = async () => {
    const { config } = await connection.workflowService.describeNamespace({ namespace });
    return Number(config?.workflowExecutionRetentionTtl?.seconds) / 86_400;
  };
  try {
    await expect(prepare('3d')).resolves.toContain(namespace);
    await expect(retentionDays()).resolves.toBe(3);
    await prepare('7d');
    await expect(retentionDays()).resolves.toBe(7);
    const { customAttributes } = await connection.operatorService.listSearchAttributes({ namespace });
    expect(Object.keys(customAttributes ?? {}).sort()).toEqual(
      expect.arrayContaining(Object.keys(SEARCH_ATTRIBUTES).sort()),
    );
  } finally {
    await connection.close();
  }
}, 90_000);
