// A pull agent whose handler kills its process on a poisoned payload: node aborting-agent.cjs GATEWAY NAME ABILITY
const { appendFileSync } = require('node:fs');
const { ReachAgent } = require('../../dist/src/sdk/agent.js');

const [gateway, name, ability, journal] = process.argv.slice(2);
const agent = new ReachAgent({
  descriptor: {
    name,
    version: '1.0.0',
    capabilities: [{ name: ability, description: 'works' }],
    endpoint: { protocol: 'worker', max_retry: 2 },
  },
  gateway,
  ttlSec: 30,
  handlers: {
    [ability]: (payload) => {
      appendFileSync(journal, `${JSON.stringify(payload)}\n`);
      if (payload.poison) process.abort();
      return { answer: payload };
    },
  },
});
agent.start().then(() => process.stdout.write('ready\n'));
