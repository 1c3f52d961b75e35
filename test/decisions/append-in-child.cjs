// Decides for ever, and says after each write how many decisions the store has: whoever reads that may kill it.
const { resolve } = require('node:path');

const dist = resolve(__dirname, '../../dist/src');
const { DecisionLog } = require(`${dist}/decisions`);
const { FileStore } = require(`${dist}/payloads/file-store.js`);

let written = 0;
const log = new DecisionLog({
  objects: new FileStore(process.argv[2]),
  tenant: 'default',
  settings: { sample_rate: 1, keep_text: true, retention: 3_600_000, max_bytes: 1e9, flush_interval: 50 },
  madeBy: 'child',
  events: {
    written(decisions) {
      written += decisions;
      process.stdout.write(`${written}\n`);
    },
    dropped() {},
    failing() {},
  },
  onLost() {},
});

let number = 0;
setInterval(() => {
  const decision_id = `d-${String(number++).padStart(8, '0')}`;
  const record = { decision_id, at: new Date().toISOString(), ability: 'echo', chosen: null, route_reason: 'nobody' };
  log.keep({ record, complete: null });
}, 1);
