import { startGateway } from '../support/gateway';
import { startHttpAgent } from '../support/scripted-http-agent';
import { startWorkerAgent } from '../support/scripted-worker-agent';
it('smokes', async () => {
  const t0 = performance.now();
  const gateway = await startGateway();
  const t1 = performance.now();
  const agent = await startHttpAgent(gateway.api, { name: 'smoke' });
  const t2 = performance.now();
  const worker = await startWorkerAgent(gateway.api, { name: 'smokew' });
  const t3 = performance.now();
  const a = await gateway.api.reach({ ability: 'smoke.work' });
  const b = await gateway.api.reach({ ability: 'smokew.work' });
  console.log(t1 - t0, t2 - t1, t3 - t2, JSON.stringify(a, null, 1), JSON.stringify(b, null, 1));
  await agent.close(); await worker.close();
  const t4 = performance.now();
  await gateway.close();
  console.log('close', performance.now() - t4);
});
