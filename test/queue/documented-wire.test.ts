import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import * as scripts from '../../src/protocol/queue-wire-scripts';

const page = readFileSync(join(__dirname, '../../docs/queue-agents.md'), 'utf8');

/** Agents in other languages take the scripts from there. */
it.each(['TAKE', 'KEEP', 'DONE'] as const)('docs/queue-agents.md has the script %s as it is', (name) => {
  expect(page).toContain(`\`\`\`lua\n-- ${name}\n${scripts[name].trim()}\n\`\`\``);
});
