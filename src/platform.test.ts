import { Registry } from 'prom-client';
import { loadConfig } from './config';
import { createPlatform } from './platform';
import { createLogger } from './telemetry/logger';

it.each(['reach_token_secret_env: TEST_NO_SUCH_SECRET', 'egress_allow: [10.0.0.0/40]'])(
  'a platform with `security: { %s }` is refused before anything is connected to',
  async (setting) => {
    const engines = 'temporal: { address: "127.0.0.1:9" }\nregistry: { etcd: ["127.0.0.1:9"] }';
    const config = loadConfig({ text: `security: { ${setting} }\n${engines}` });
    const platform = createPlatform(config, createLogger('gateway', 'silent'), new Registry());
    await expect(platform).rejects.toMatchObject({ code: 'invalid_request' });
  },
);
