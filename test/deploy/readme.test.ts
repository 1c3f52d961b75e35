/** The README does what it says: its blocks are typed, its commands exist, and its curl session is run. */
import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { buildProgram } from '../../src/cli/program';
import type { CliIo } from '../../src/cli/io';
import { freePorts } from '../../src/engines/ports';
import { startGateway, type TestGateway } from '../support/gateway';
import { codeBlocks, textOf } from './files';
import { typeErrors } from './typescript-blocks';

const run = promisify(execFile);
const blocks = codeBlocks(textOf('README.md'));
const typescript = [...blocks, ...codeBlocks(textOf('docs/agents.md'))].filter(({ language }) => language === 'ts');

describe('TypeScript', () => {
  it('is well typed in every block, and a block that is not is noticed', () => {
    const codes = typescript.map(({ code }) => code);
    expect(codes.length).toBeGreaterThan(2);
    const wrong = codes[0]?.replace('gateway:', 'gatewey:') ?? '';
    const found = typeErrors([...codes, wrong]);
    expect(found.slice(0, -1)).toEqual(codes.map(() => []));
    expect(found.at(-1)?.join()).toContain('gatewey');
  });
});

it('names commands of the CLI that there are', () => {
  const io = { out: () => undefined, err: () => undefined, columns: 100 } as unknown as CliIo;
  const commands = buildProgram(io, { exitCode: 0 }).commands.map((command) => command.name());
  const section = blocks.find(({ section: name }) => name === 'The command line')?.code ?? '';
  const used = [...section.matchAll(/^agent-reach (\S+)/gm)].map(([, command]) => command);
  expect(used.length).toBeGreaterThan(4);
  for (const command of [...used, 'send', 'get', 'trace', 'cancel', 'dev', 'gateway', 'worker'])
    expect(commands).toContain(command);
});

it('has a marked place for the figures, with the targets', () => {
  expect(textOf('README.md')).toMatch(/<!-- figures -->\n[^]*≤ 0\.6[^]*\n<!-- \/figures -->/);
});

describe('“Try it with curl”', () => {
  const session = blocks.filter(({ section }) => section === 'Try it with curl');
  let gateway: TestGateway;
  let folder: string;

  // One for each test: what it registers is new to it.
  beforeEach(async () => {
    gateway = await startGateway();
    folder = mkdtempSync(join(tmpdir(), 'readme-'));
  });
  afterEach(async () => {
    await gateway.close();
    rmSync(folder, { recursive: true, force: true });
  });

  it('works as it stands', async () => {
    const [port] = await freePorts(1);
    const here = (text: string) =>
      text.replaceAll('http://127.0.0.1:8080', gateway.url).replaceAll('9101', String(port));
    writeFileSync(join(folder, 'shout-agent.mjs'), here(session.find(({ language }) => language === 'js')?.code ?? ''));
    const commands = session.filter(({ language }) => language === 'sh').map(({ code }) => here(code));
    // Each answer on a line of its own; an agent that has just been started may not listen yet.
    const listening = `for i in $(seq 100); do curl -s http://127.0.0.1:${port}/healthz >/dev/null && break; sleep 0.1; done`;
    const script = ['set -um', 'curl() { command curl "$@"; echo; }', ...commands]
      .join('\n')
      .replace('mjs &\n', `mjs &\n${listening}\n`);
    const { stdout } = await run('bash', ['-c', script], { cwd: folder, timeout: 110_000 });
    expect(stdout).toContain('"outcome":"created"');
    expect(stdout).toContain('"answer":"HELLO"');
    expect(stdout).toContain('"answer":"LATER"');
    expect(stdout).toMatch(/^event: ?completed$/m);
    expect(stdout).toContain('"hops":[{"name":"route"');
    const once = stdout.split('\n').filter((line) => line.includes('"answer":"ONCE"'));
    expect(once.map((line) => (JSON.parse(line) as { replayed: boolean }).replayed)).toEqual([false, true]);
    expect(stdout).toContain('"code":"idempotency_key_reused"');
    expect(stdout).toContain('"status":"cancelled"');
    expect(stdout).toContain('did you mean shout');
  });

  it('is answered by a gateway whose /readyz docs/operations.md explains', async () => {
    const report = (await (await fetch(`${gateway.url}/readyz`)).json()) as Record<string, unknown>;
    const fields = Object.entries(report).flatMap(([name, value]) =>
      value !== null && typeof value === 'object' ? Object.keys(value).map((inner) => `${name}.${inner}`) : [name],
    );
    expect(fields).toContain('registry.connected');
    for (const field of fields) expect(textOf('docs/operations.md')).toContain(`| \`${field}\` |`);
  });
});
