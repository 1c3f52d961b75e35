import { startGateway, type TestGateway } from '../support/gateway';
import { startWorkerAgent } from '../support/scripted-worker-agent';
import { describeAdapter } from './adapter-contract';

let gateway: TestGateway;
beforeAll(async () => {
  gateway = await startGateway({
    config: {
      payloads: { max_bytes: 1_048_576 },
      breaker: { enabled: false },
    },
  });
});
afterAll(() => gateway.close());

describeAdapter('worker', () => gateway.api, startWorkerAgent);
