import { startGateway, type TestGateway } from '../support/gateway';
import { startHttpAgent } from '../support/scripted-http-agent';
import { describeAdapter } from './adapter-contract';
import { describeHttpRules } from './http-rules';

let gateway: TestGateway;
beforeAll(async () => {
  gateway = await startGateway({
    // What is classified here fails on purpose, again and again.
    config: {
      payloads: { max_bytes: 1_048_576 },
      security: { token_env_allow: ['CONTRACT_AGENT_*'] },
      breaker: { enabled: false },
    },
  });
});
afterAll(() => gateway.close());

describeAdapter('http', () => gateway.api, startHttpAgent);
describeHttpRules(() => gateway.api);
