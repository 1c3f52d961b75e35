// npm run demo | demo:ticket | start | test | bench | bench:routing | chaos: prepares what is missing, then runs the thing.
import { bootstrap, ROOT, RUN_ENGINES, TEST_ENGINES, TEST_PROGRAMS } from './bootstrap.mjs';
import { memoryFiles } from './lib/memory-files.mjs';
import { runChild } from './lib/run-child.mjs';
import { paint } from './lib/terminal.mjs';

const COMMANDS = {
  demo: { program: ['dist/examples/ticket-desk/demo.js'], engines: RUN_ENGINES },
  'demo:ticket': { program: ['dist/examples/one-ticket/main.js'], engines: RUN_ENGINES },
  start: { program: ['dist/src/cli/main.js', 'dev', '--with-examples'], engines: RUN_ENGINES },
  test: {
    program: ['node_modules/jest/bin/jest.js'],
    engines: TEST_ENGINES,
    programs: TEST_PROGRAMS,
    inMemory: true,
  },
  bench: { program: ['dist/bench/main.js'], engines: RUN_ENGINES },
  'bench:routing': { program: ['dist/bench/routing/main.js'], engines: ['embeddings'] },
  chaos: { program: ['dist/test/chaos/main.js'], engines: ['temporal', 'etcd'], inMemory: true },
};

const [name, ...args] = process.argv.slice(2);
const command = Object.hasOwn(COMMANDS, name ?? '') ? COMMANDS[name] : undefined;

if (!command) {
  process.stderr.write(`usage: node scripts/run.mjs ${Object.keys(COMMANDS).join('|')} [arguments]\n`);
  process.exitCode = 2;
} else {
  try {
    const { engines, programs, inMemory } = command;
    await bootstrap({ engines, programs });
    const memory = inMemory ? memoryFiles() : null;
    try {
      process.exitCode = await runChild([...command.program, ...args], { cwd: ROOT, env: memory?.env });
    } finally {
      memory?.remove();
    }
  } catch (error) {
    process.stderr.write(`${paint.red('✗')} ${error.message}\n`);
    process.exitCode = 1;
  }
}
