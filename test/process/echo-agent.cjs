// An agent as a process of its own, for tests that freeze or kill it: node echo-agent.cjs GATEWAY NAME ABILITY PROTOCOL
const { ReachAgent } = require('../../dist/src/sdk/agent.js');

const [gateway, name, ability, protocol] = process.argv.slice(2);
const agent = new ReachAgent({
  descriptor: {
    name,
    version: '1.0.0',
    capabilities: [{ name: ability, description: 'echoes' }],
    endpoint: { protocol },
  },
  gateway,
  ttlSec: 5,
  handlers: { [ability]: (payload) => ({ answer: payload, pid: process.pid }) },
  handleSignals: true,
});
agent.start().then(() => process.stdout.write('ready\n'));
