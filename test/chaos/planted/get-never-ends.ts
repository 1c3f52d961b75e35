/** Planted in gateways: one reach in eight is running for whoever reads it, however it ended; other channels tell the truth. */
import { setTimeout as sleep } from 'node:timers/promises';
import { ReachReader } from '../../../src/gateway/reach-reader';

const { prototype } = ReachReader;
const { view } = prototype;

prototype.view = async function (id, waitMs, left) {
  if (!/[abcd]$/.test(id)) return view.call(this, id, waitMs, left);
  await sleep(waitMs);
  return { ...(await view.call(this, id, 0, left)), status: 'running' } as Awaited<ReturnType<typeof view>>;
};
