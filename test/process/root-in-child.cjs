// Runs a root whose parts do what the argument says, from the sources: `ready` on stdout once it runs, and what is stopped.
const { resolve } = require('node:path');
const { transformFileSync } = require('@swc/core');

const options = { jsc: { parser: { syntax: 'typescript' }, target: 'es2022' }, module: { type: 'commonjs' } };
require.extensions['.ts'] = (module, file) => module._compile(transformFileSync(file, options).code, file);

const { runRoot, readRootArguments } = require(resolve(__dirname, '../../src/root.ts'));
const { ReachError } = require(resolve(__dirname, '../../src/protocol/reach-error.ts'));

const [how] = process.argv.splice(2, 1);
const say = (text) => process.stdout.write(`${text}\n`);
const stop = (name, error) => async () => {
  say(`stopped ${name}`);
  if (error) throw new Error(error);
};
const lost = () => new ReachError('engine_unavailable', 'etcd does not answer', { cause: new Error('ECONNREFUSED') });

runRoot('child', async (atExit, giveUp) => {
  atExit(stop('first'));
  atExit(stop('second', how === 'stop-fails' ? 'it is stuck' : undefined));
  atExit(stop('third'));
  if (how === 'arguments') readRootArguments({});
  if (how === 'no-engine') throw lost();
  if (how === 'breaks') setTimeout(() => giveUp(new Error('the worker broke down')), 50);
  setInterval(() => undefined, 1_000);
  say('ready');
});
