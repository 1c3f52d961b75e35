import { startGateway, type TestGateway } from '../support/gateway';
import { startHttpAgent } from '../support/scripted-http-agent';
import { describeAdapter, type StartAgent } from './adapter-contract';

let gateway: TestGateway;
beforeAll(async () => {
  gateway = await startGateway();
});
afterAll(() => gateway.close());

describeAdapter('http', () => gateway.api, startHttpAgent as unknown as StartAgent);
