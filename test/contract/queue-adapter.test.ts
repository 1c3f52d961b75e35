import { startGateway, type TestGateway } from '../support/gateway';
import { startQueueAgent } from '../support/scripted-queue-agent';
import { describeAdapter } from './adapter-contract';
import { redisProgram, startRedis, type RedisServer } from './redis-server';

const program = redisProgram();

(program === undefined ? describe.skip : describe)('message queue (needs redis-server on PATH)', () => {
  let gateway: TestGateway;
  let redis: RedisServer;
  beforeAll(async () => {
    redis = await startRedis(program!);
    gateway = await startGateway({
      config: { payloads: { max_bytes: 1_048_576 }, breaker: { enabled: false } },
    });
  });
  afterAll(async () => {
    await gateway?.close();
    await redis?.kill();
  });

  describeAdapter(
    'mq',
    () => gateway.api,
    (api, draft) => startQueueAgent(api, draft, redis.url),
  );
});
