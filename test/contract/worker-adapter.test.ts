import { startGateway, type TestGateway } from '../support/gateway';
import { startWorkerAgent } from '../support/scripted-worker-agent';
import { describeAdapter } from './adapter-contract';

let gateway: TestGateway;
beforeAll(async () => {
  gateway = await startGateway({ config: { breaker: { enabled: false } } });
});
afterAll(() => gateway.close());

describeAdapter('worker', () => gateway.api, startWorkerAgent);
