/** The documents against the code: error table, links, commands, import table, and the code blocks of docs/. */
import { execFileSync } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';
import { parse } from 'yaml';
import { parseDescriptor } from '../../src/protocol/descriptor-loader';
import { ERROR_TABLE } from '../../src/protocol/error-codes';
import { codeBlocks, isThere, pathOf, textOf } from './files';

/** What is read of the rules of dependency-cruiser. */
interface Cruiser {
  forbidden: { name: string; comment?: string }[];
}

const under = (folder: string) =>
  readdirSync(pathOf(folder))
    .filter((name) => name.endsWith('.md'))
    .map((name) => `${folder}/${name}`);
const documents = [
  'README.md',
  'ARCHITECTURE.md',
  'CONTRIBUTING.md',
  'CHANGELOG.md',
  ...under('docs'),
  ...under('docs/decisions'),
];

describe('docs/errors.md', () => {
  it('has every code with its status and class, in the order of the table', () => {
    const rows = [...textOf('docs/errors.md').matchAll(/^\| `(\w+)` \| (\d+) \| (\w+) \| .+ \|$/gm)].map(
      ([, code, status, errorClass]) => [code, Number(status), errorClass],
    );
    expect(rows).toEqual(
      Object.entries(ERROR_TABLE).map(([code, { status, class: errorClass }]) => [code, status, errorClass]),
    );
  });
});

describe('ARCHITECTURE.md', () => {
  it('has the import table that is enforced', () => {
    const { forbidden } = jest.requireActual<Cruiser>(pathOf('.dependency-cruiser.cjs'));
    const enforced = forbidden.flatMap(({ name, comment }) => {
      const [, allowed] = /may import: (.*)$/.exec(comment ?? '') ?? [];
      return allowed === undefined
        ? []
        : [[name.replace('room-', ''), allowed === 'nothing else inside' ? 'nothing inside' : allowed] as const];
    });
    expect(enforced.length).toBeGreaterThan(10);
    const table = new Map<string, string>();
    for (const [, rooms = '', allowed = ''] of textOf('ARCHITECTURE.md').matchAll(/^\| ([a-z, ]+) \| ([^|]+) \|$/gm))
      for (const room of rooms.split(', ')) table.set(room, allowed);
    for (const [room, allowed] of enforced)
      expect([room, table.get(room)?.split(/[;`]/)[0]?.trim()]).toEqual([room, allowed]);
  });

  it('counts the events of the recorded histories', () => {
    const text = textOf('ARCHITECTURE.md');
    const counts: Record<string, string> = {
      'fast path': 'fast-path',
      'regular call': 'regular',
      'refused by the agent': 'rejected',
      'fast path, retried': 'fast-path-retried',
      'next agent': 'next-agent',
      'decided anew by the worker': 'decided-anew',
      'fallback with a fixed answer': 'fallback-fixed',
      'fallback at acceptance': 'fallback-at-acceptance',
      'agent accepted, result later': 'late-result',
      'pull agent, retried': 'pull-agent-retried',
      'async, waiting for an agent': 'async-waits-for-agent',
    };
    for (const [row, file] of Object.entries(counts)) {
      const { events } = JSON.parse(textOf(`test/replay/histories/${file}.json`)) as { events: unknown[] };
      expect(text).toContain(`| ${row} | ${events.length} |`);
    }
  });
});

describe.each(documents)('%s', (document) => {
  const text = textOf(document);

  it('links to files that are there', () => {
    for (const [, target = ''] of text.matchAll(/\]\(([^)#]+)(?:#[^)]*)?\)/g)) {
      if (/^https?:/.test(target)) continue;
      expect([target, isThere(normalize(join(dirname(document), target)))]).toEqual([target, true]);
    }
  });

  it('names npm scripts that are there', () => {
    const { scripts } = JSON.parse(textOf('package.json')) as { scripts: Record<string, string> };
    for (const [, script = ''] of text.matchAll(/npm run ([a-z][\w:-]*)/g))
      expect(Object.keys(scripts)).toContain(script);
  });

  it('stands alone: numbers of requirements are not cited', () => {
    expect(text).not.toMatch(/\bR\d{1,2}\b/);
  });

  it('has YAML, JSON and shell that parse, and descriptors that load', () => {
    for (const { language, code } of codeBlocks(text)) {
      if (language === 'json') JSON.parse(code);
      if (language === 'sh') execFileSync('bash', ['-n'], { input: code });
      if (language !== 'yaml') continue;
      const value: unknown = parse(code);
      if (value !== null && typeof value === 'object' && 'capabilities' in value) parseDescriptor(code, 'yaml');
    }
  });
});
