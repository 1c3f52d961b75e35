import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { problem, ScriptedGateway, type Reply, type Script } from '../sdk/scripted-gateway';
import { cli } from './cli-io';

const RESULT = {
  reach_id: 'r-1',
  message_id: 'm-1',
  status: 'completed',
  agent_name: 'echo',
  agent_version: '1.0.0',
  instance: 'i-1',
  route_reason: 'echo is the only one',
  confidence: 0.87,
  output: { text: '你好' },
  degraded: false,
  attempts: 2,
  duration_ms: 1_234,
  replayed: false,
  decision_id: 'd-1',
  trace_id: 't-1',
};
const LINKS = { self: '/v1/reaches/r-1', events: '', temporal: 'http://ui/r-1' };
const RECEIPT = {
  ...RESULT,
  status: 'accepted',
  stage: 'routed',
  accepted_at: '2026-03-01T12:00:00.000Z',
  expires_in_ms: 86_400_000,
  links: LINKS,
};
const ATTEMPT = {
  n: 1,
  agent_name: 'echo',
  agent_version: '1.0.0',
  instance: 'i-1',
  started_at: '2026-03-01T12:00:00.000Z',
  duration_ms: 12,
  received: 'unknown',
  code: 'agent_timeout',
  message: 'too slow',
};

let gateway: ScriptedGateway;
let folder: string;
let script: Script = () => ({ status: 200, body: {} });

beforeAll(async () => {
  gateway = await ScriptedGateway.start((seen, nth) => script(seen, nth));
  folder = mkdtempSync(join(tmpdir(), 'cli-'));
});

afterAll(async () => {
  await gateway.close();
  rmSync(folder, { recursive: true });
});

beforeEach(() => void gateway.seen.splice(0));

/** Runs against the scripted gateway, which answers with `reply`. */
function reach(args: readonly string[], reply: Reply | Script, options: Parameters<typeof cli>[1] = {}) {
  script = typeof reply === 'function' ? reply : () => reply;
  return cli(args, { env: { AGENT_REACH_URL: gateway.url, AGENT_REACH_API_KEY: 'secret' }, ...options });
}

const file = (name: string, text: string) => {
  writeFileSync(join(folder, name), text);
  return join(folder, name);
};

describe('invoke', () => {
  it('prints the answer on stdout and what surrounds it on stderr', async () => {
    const { code, out, err } = await reach(['invoke', 'echo', '-p', '{"text":"你好"}'], { status: 200, body: RESULT });
    expect(code).toBe(0);
    expect(JSON.parse(out)).toEqual({ text: '你好' });
    expect(err).toContain('echo#1.0.0 (i-1)  2 attempts · 1.2 s · confidence 0.87');
    expect(err).toContain('echo is the only one');
    expect(err).toContain(`${gateway.url}/v1/reaches/r-1`);
    expect(gateway.seen[0]?.headers.authorization).toBe('Bearer secret');
  });

  it('prints an answer that is text as text', async () => {
    expect((await reach(['invoke', 'echo'], { status: 200, body: { ...RESULT, output: { answer: 'yes' } } })).out).toBe(
      'yes\n',
    );
  });

  it('prints the whole result and nothing else with --json, wherever it stands', async () => {
    for (const args of [
      ['invoke', 'echo', '--json'],
      ['--json', 'invoke', 'echo'],
    ]) {
      const { out, err } = await reach(args, { status: 200, body: RESULT });
      expect(JSON.parse(out)).toEqual(RESULT);
      expect(err).toBe('');
    }
  });

  it('has an option for every field of the envelope', async () => {
    const args = [
      'invoke',
      'echo',
      '--agent',
      'echo#1.0.0',
      '--key',
      'k',
      '--timeout',
      '30s',
      '--semantics',
      'exactly_once',
      '--version-range',
      '^1',
      '--group',
      'beta',
    ];
    const more = [
      '--type',
      'event',
      '--source',
      'me',
      '--context',
      'c',
      '--message-id',
      'm',
      '--max-retries',
      '0',
      '--meta',
      'a=1',
      '--meta',
      'b=2',
    ];
    await reach([...args, ...more], { status: 200, body: RESULT });
    expect(gateway.seen[0]?.json).toEqual({
      ability: 'echo',
      target_agent: 'echo#1.0.0',
      payload: {},
      idempotency_key: 'k',
      timeout_ms: 30_000,
      delivery_semantics: 'exactly_once',
      version: '^1',
      group: 'beta',
      type: 'event',
      source_agent: 'me',
      context_id: 'c',
      message_id: 'm',
      max_total_retries: 0,
      metadata: { a: '1', b: '2' },
    });
  });

  it('takes the payload from a file or from stdin', async () => {
    await reach(['invoke', 'echo', '-p', `@${file('p.json', '{"from":"file"}')}`], { status: 200, body: RESULT });
    await reach(['invoke', 'echo', '-p', '-'], { status: 200, body: RESULT }, { stdin: '\uFEFF{"from":"stdin"}' });
    expect(gateway.seen.map(({ json }) => json?.payload)).toEqual([{ from: 'file' }, { from: 'stdin' }]);
  });

  it('draws progress on a terminal only, with who is working, and takes it away', async () => {
    const slow: Script = async (seen) => {
      if (seen.method === 'POST') return { status: 202, body: RECEIPT };
      await new Promise((resolve) => setTimeout(resolve, 450));
      return { status: 200, body: RESULT };
    };
    const { out, err } = await reach(['invoke', 'echo'], slow, { errColumns: 80 });
    expect(err).toMatch(/⠙|⠹|⠸/);
    expect(err).toContain('echo#1.0.0 is working on r-1');
    expect(err.slice(0, err.indexOf('✓'))).toMatch(/\r\u001b\[2K$/);
    expect(JSON.parse(out)).toEqual({ text: '你好' });
    expect((await reach(['invoke', 'echo'], slow)).err).not.toContain('⠙');
    expect((await reach(['invoke', 'echo', '--json'], slow, { errColumns: 80 })).err).toBe('');
  });

  it('stops waiting when --wait is over and says that the reach goes on', async () => {
    const { code, err } = await reach(['invoke', 'echo', '--wait', '300ms'], (seen) =>
      seen.method === 'POST' ? { status: 202, body: RECEIPT } : 'hang',
    );
    expect(code).toBe(1);
    expect(err).toContain('it goes on');
    expect(gateway.seen[0]?.json).toMatchObject({ mode: 'sync' });
  });

  it('ends with 130 when interrupted', async () => {
    const interrupt = new AbortController();
    const ran = reach(['invoke', 'echo'], 'hang', { signal: interrupt.signal });
    setTimeout(() => interrupt.abort(new Error('interrupted')), 100);
    expect(await ran).toEqual({ code: 130, out: '', err: '' });
  });
});

describe('errors', () => {
  it('says code, what, findings by pointer, the attempts and what to do next', async () => {
    const more = {
      errors: [{ pointer: '/payload/text', message: 'is missing', fix: 'add it' }],
      attempts: [ATTEMPT],
      reach_id: 'r-9',
      agent_name: 'echo',
      retry_after_ms: 2_000,
      retryable: true,
    };
    const { code, out, err } = await reach(['invoke', 'echo'], problem('agent_timeout', 504, more));
    expect([code, out]).toEqual([1, '']);
    expect(err.split('\n')).toEqual([
      '✗ agent_timeout  detail of agent_timeout',
      '  /payload/text  is missing – add it',
      '  1. echo#1.0.0 i-1  12 ms  agent_timeout too slow (received: unknown)',
      '  agent echo · reach r-9',
      '  → agent-reach trace r-9',
      '  → the same request may work in 2.0 s',
      '',
    ]);
  });

  it('names the nearest abilities', async () => {
    const diagnosis = {
      reason: 'name_mismatch',
      message: 'nobody offers it',
      closest: [{ name: 'invoice-ocr', why: 'separator' }],
    };
    const { err } = await reach(['invoke', 'invoice_ocr'], problem('ability_not_found', 404, { diagnosis }));
    expect(err).toContain('did you mean invoice-ocr? (separator)');
    expect(err).toContain('→ agent-reach abilities');
  });

  it('prints the problem document on stdout with --json', async () => {
    const { code, out } = await reach(['get', 'r-1', '--json'], problem('not_found', 404));
    expect(code).toBe(1);
    expect(JSON.parse(out)).toMatchObject({ code: 'not_found', status: 404 });
  });

  it.each([
    ['nobody listens', 'http://127.0.0.1:1'],
    ['the name means nothing', 'http://nowhere.invalid'],
  ])('ends with 3 when %s', async (_, url) => {
    const { code, err } = await cli(['agents', '--url', url]);
    expect(code).toBe(3);
    expect(err).toContain(url);
    expect(err).toContain('agent-reach dev');
  });

  it('ends with 3 when the engines behind the gateway are gone', async () => {
    expect((await reach(['agents'], problem('engine_unavailable', 503))).code).toBe(3);
  });

  it.each([
    ['an unknown command', ['nonsense']],
    ['no command', []],
    ['an unknown option', ['agents', '--nope']],
    ['no id', ['get']],
    ['no target', ['invoke']],
    ['a bad duration', ['invoke', 'echo', '--timeout', 'soon']],
    ['bad semantics', ['invoke', 'echo', '--semantics', 'maybe']],
    ['bad JSON', ['invoke', 'echo', '-p', '{"a":']],
    ['a duplicate key', ['invoke', 'echo', '-p', '{"a":1,"a":2}']],
    ['a number that would change', ['invoke', 'echo', '-p', '{"a":9007199254740993}']],
    ['JSON that is no object', ['invoke', 'echo', '-p', '[1]']],
    ['no such payload file', ['invoke', 'echo', '-p', '@/nowhere.json']],
    ['no such descriptor', ['register', '/nowhere.yaml']],
    ['no such configuration', ['agents', '--config', '/nowhere.yaml']],
    ['two questions at once', ['abilities', 'echo', '--codegen']],
  ])('ends with 2 and sends nothing for %s', async (_, args) => {
    const env = args.includes('--config') ? {} : { AGENT_REACH_URL: gateway.url };
    const { code, out, err } = await reach(args, { status: 200, body: {} }, { env });
    expect([code, out]).toEqual([2, '']);
    expect(err).not.toBe('');
    expect(gateway.seen).toEqual([]);
  });
});

describe('reading', () => {
  it('hands a message over with send and prints the receipt', async () => {
    const { out } = await reach(['send', 'echo', '-p', '{}'], { status: 202, body: RECEIPT });
    expect(gateway.seen[0]).toMatchObject({ headers: { prefer: 'respond-async' }, json: { mode: 'async' } });
    expect(out).toContain('r-1');
    expect(out).toContain('accepted (routed)');
    expect(out).toContain('agent-reach get r-1');
  });

  it.each([
    ['completed', RESULT, 0, '"text": "你好"'],
    ['running', { ...RECEIPT, status: 'running', ability: 'echo', attempts: [ATTEMPT] }, 0, 'agent_timeout too slow'],
    [
      'dead_lettered',
      {
        ...RECEIPT,
        status: 'dead_lettered',
        ability: 'echo',
        attempts: [],
        error: problem('agent_rejected', 502).body,
      },
      1,
      'agent_rejected  detail of agent_rejected',
    ],
  ])('get tells of a reach that is %s', async (_, body, expected, text) => {
    const { code, out } = await reach(['get', 'r-1'], { status: 200, body });
    expect(code).toBe(expected);
    expect(out).toContain(text);
  });

  it('lists reaches and names the next page', async () => {
    const rows = [
      {
        reach_id: 'r-1',
        status: 'completed',
        ability: 'echo',
        agent_name: 'echo',
        agent_version: '1.0.0',
        source_agent: 'me',
        accepted_at: '2026-03-01T12:00:00Z',
        ended_at: null,
        duration_ms: 42,
      },
    ];
    const { out } = await reach(['list', '--status', 'completed', '--since', '1h', '--limit', '5'], {
      status: 200,
      body: { items: rows, next_cursor: 'abc' },
    });
    expect(Object.fromEntries(gateway.seen[0]?.query ?? [])).toEqual({
      status: 'completed',
      limit: '5',
      since: expect.stringMatching(/Z$/),
    });
    expect(out).toMatch(/REACH\s+STATUS\s+ABILITY/);
    expect(out).toMatch(/r-1\s+completed\s+echo\s+echo#1\.0\.0\s+me/);
    expect(out).toContain('--cursor abc');
  });

  it('draws a trace as a waterfall in proportion', async () => {
    const hop = (name: string, at: number, ms: number, more: object = {}) => ({
      name,
      started_at: new Date(Date.parse('2026-03-01T12:00:00Z') + at).toISOString(),
      duration_ms: ms,
      outcome: 'ok',
      ...more,
    });
    const hops = [
      hop('accept', 0, 0),
      hop('invoke', 0, 500, {
        attempt: 1,
        outcome: 'agent_error',
        agent_name: 'echo',
        agent_version: '1.0.0',
        reason: 'boom',
      }),
      hop('invoke', 500, 500, { attempt: 2 }),
    ];
    const { out } = await reach(['trace', 'r-1'], {
      status: 200,
      body: {
        trace_id: 't',
        reach_id: 'r-1',
        status: 'completed',
        started_at: '2026-03-01T12:00:00Z',
        duration_ms: 1_000,
        hops,
      },
    });
    const lines = out.split('\n');
    const bars = lines
      .filter((line) => line.includes('█'))
      .map((line) => [line.indexOf('█'), (line.match(/█/g) ?? []).length]);
    expect(bars[0]?.[1]).toBe(20);
    expect(bars[1]?.[1]).toBe(20);
    expect((bars[1]?.[0] ?? 0) - (bars[0]?.[0] ?? 0)).toBe(20);
    expect(out).toContain('invoke #1');
    expect(out).toContain('echo#1.0.0 agent_error – boom');
  });

  it('explains a route: factors, exclusions, reason', async () => {
    const factors = { semantic_similarity: 0.9, latency_score: 0.5, reliability_score: 1 };
    const body = {
      decision_id: 'd',
      agent_name: 'refund',
      agent_version: '1.0.0',
      ability: 'refund',
      route_reason: 'closest in meaning',
      strategy: 'score_based',
      confidence: 0.4,
      explored: false,
      candidates: [
        {
          agent_name: 'refund',
          agent_version: '1.0.0',
          ability: 'refund',
          score: 0.84,
          cosine: 0.812,
          factors,
          instances: [{ instance_id: 'i-1', weight: 1 }],
        },
      ],
      excluded: [{ agent_name: 'old', agent_version: '0.1.0', reason: 'draining' }],
      excluded_count: 3,
      weights: { semantic_similarity: 0.6, latency_score: 0.2, reliability_score: 0.2 },
    };
    const { code, out } = await reach(['route', 'refund', '-p', '{"text":"钱"}'], { status: 200, body });
    expect(code).toBe(0);
    expect(out).toContain('✓ refund#1.0.0  score_based · confidence 0.40');
    expect(out).toMatch(/refund#1\.0\.0\s+refund\s+0\.840\s+0\.900\s+0\.500\s+1\.000\s+0\.812\s+i-1/);
    expect(out).toContain('score = 0.6 × similarity + 0.2 × latency + 0.2 × reliability');
    expect(out).toMatch(/old#0\.1\.0\s+draining/);
    expect(out).toContain('and 2 more');
  });

  it('ends with 1 when a route leads nowhere, and says why once', async () => {
    const message = 'nobody offers it';
    const diagnosis = {
      reason: 'not_ready',
      message,
      agents: [
        {
          agent_name: 'refund',
          agent_version: '1.0.0',
          status: 'draining',
          since: null,
          detail: 'draining since 12:00',
        },
      ],
      available_versions: ['1.0.0'],
    };
    const body = {
      decision_id: 'd',
      agent_name: null,
      agent_version: null,
      ability: 'refund',
      route_reason: message,
      strategy: null,
      confidence: 0,
      explored: false,
      candidates: [],
      excluded: [],
      excluded_count: 0,
      weights: {},
      code: 'no_ready_instance',
      diagnosis,
    };
    const { code, out } = await reach(['route', 'refund'], { status: 200, body });
    expect(code).toBe(1);
    expect(out.split(message)).toHaveLength(2);
    expect(out).toMatch(
      /AGENT\s+STATUS\s+SINCE\s+SAYS\s+WHY\n\s+refund#1\.0\.0\s+draining\s+-\s+-\s+draining since 12:00/,
    );
    expect(out).toContain('→ agent-reach agents refund');
  });

  it('says what is being cancelled', async () => {
    const { out } = await reach(['cancel', 'r-1'], { status: 202, body: { reach_id: 'r-1', status: 'running' } });
    expect(out).toBe('✓ r-1  being cancelled\n');
  });
});

describe('agents and abilities', () => {
  const stats = {
    p50_ms: 12,
    p95_ms: 20,
    p99_ms: 1_500,
    failure_rate: 0.034,
    in_flight: 1,
    queue_depth: 0,
    requests: 29,
  };
  const instance = {
    instance_id: 'i-1',
    host: null,
    version: '1.0.0',
    status: 'ready',
    status_reason: 'reported ready',
    since: '2026-03-01T12:00:00Z',
    load: 0.5,
    in_flight: 1,
    max_concurrency: 2,
    lease_remaining_sec: 28,
    health: 'unknown',
    source: 'lease',
  };
  const agent = {
    name: 'echo',
    versions: [
      {
        version: '1.0.0',
        descriptor: { name: 'echo', endpoint: { protocol: 'worker' }, accepted_message_types: ['task'] },
        registered_at: '2026-03-01T12:00:00Z',
      },
    ],
    instances: [instance],
    abilities: [{ name: 'echo', agent_version: '1.0.0', description: 'Says it again '.repeat(20), stats: null }],
    stats,
    status: 'ready',
  };

  it('lists agents with how they do', async () => {
    const { out } = await reach(['agents'], { status: 200, body: { items: [agent] } });
    expect(out).toMatch(/echo\s+1\.0\.0\s+ready\s+1\s+1\s+12 ms\s+1\.5 s\s+3\.4 %\s+echo/);
  });

  it('shows one agent, cut to the terminal', async () => {
    const { out } = await reach(['agents', 'echo'], { status: 200, body: agent }, { columns: 100 });
    expect(out).toMatch(/i-1\s+1\.0\.0\s+ready\s+1\/2\s+unknown\s+28\.0 s/);
    for (const line of out.split('\n')) expect(line.length).toBeLessThanOrEqual(100);
    expect(out).toContain('…');
  });

  it('says what to do when there is nothing', async () => {
    expect((await reach(['agents'], { status: 200, body: { items: [] } })).out).toContain('agent-reach register');
    expect((await reach(['abilities'], { status: 200, body: { items: [] } })).out).toContain('agent-reach register');
  });

  it('lists the catalogue, finds by meaning, and writes it as TypeScript', async () => {
    const items = [
      {
        name: 'echo',
        description: 'Says it again',
        agents: [{ agent_name: 'echo', agent_version: '1.0.0', status: 'ready', description: '' }],
      },
    ];
    expect((await reach(['abilities'], { status: 200, body: { items } })).out).toMatch(
      /echo\s+echo\s+1\/1\s+Says it again/,
    );
    const offering = {
      name: 'echo',
      versions: [{ descriptor: { capabilities: [{ name: 'echo', description: 'x' }] } }],
    };
    const agents = { status: 200, body: { items: [offering] } };
    expect((await reach(['abilities', '--codegen'], agents)).out).toContain('ECHO: "echo"');
    const asJson = JSON.parse((await reach(['abilities', '--codegen', '--json'], agents)).out) as object;
    expect(asJson).toMatchObject({ language: 'ts', abilities: 1, text: expect.stringContaining('ECHO: "echo"') });
    const target = join(folder, 'abilities.ts');
    const codegen = ['abilities', '--codegen', '--out', target];
    expect((await reach([...codegen, '--check'], agents)).code).toBe(1);
    expect((await reach(codegen, agents)).out).toContain('written, 1 name');
    expect(await reach([...codegen, '--check'], agents)).toMatchObject({
      code: 0,
      out: expect.stringContaining('is what'),
    });
    const stale = await reach([...codegen, '--check'], { status: 200, body: { items: [] } });
    expect(stale).toMatchObject({ code: 1, out: expect.stringContaining('is stale') });
    expect((await reach(['abilities', '--codegen', '--check'], agents)).code).toBe(2);
    expect((await reach(['abilities', '--out', target], agents)).code).toBe(2);
    const results = [{ ability: 'echo', agent_name: 'echo', agent_version: '1.0.0', score: 0.91, confidence: 0.5 }];
    expect((await reach(['abilities', '--search', 'again'], { status: 200, body: { results } })).out).toMatch(
      /SHARE\s+SCORE\s+CONFIDENCE\necho\s+echo#1\.0\.0\s+55 %\s+0\.910\s+0\.500\nbest first by SHARE/,
    );
  });

  it('registers each file on its own: one bad one does not keep the others out', async () => {
    const good = file('good.yaml', 'name: good\n');
    const bad = file('bad.yaml', 'name: Bad\n');
    const answer: Script = (seen) =>
      seen.text.includes('Bad')
        ? problem('invalid_descriptor', 400, { errors: [{ pointer: '/name', message: 'must be lower case' }] })
        : {
            status: 201,
            body: {
              name: 'good',
              version: '1.0.0',
              outcome: 'created',
              dry_run: false,
              registered_at: null,
              warnings: ['looks like gooD'],
            },
          };
    const { code, out, err } = await reach(['register', bad, good], answer);
    expect(code).toBe(1);
    expect(out).toBe('✓ good#1.0.0  created\n  ! looks like gooD\n');
    expect(err).toContain('bad.yaml');
    expect(err).toContain('/name  must be lower case');
    const sent = gateway.seen.length;
    expect((await reach(['register', good, '/nowhere.yaml', bad], answer)).code).toBe(2);
    expect(gateway.seen).toHaveLength(sent);
    const json = await reach(['register', bad, good, '--json'], answer);
    expect(JSON.parse(json.out)).toMatchObject([
      { file: bad, error: { code: 'invalid_descriptor' } },
      { file: good, outcome: 'created' },
    ]);
  });

  it('removes one version and says what went, or the whole agent', async () => {
    const removed = {
      agent_name: 'echo',
      agent_version: '1.2.0',
      instances: ['i-1', 'i-2'],
      breakers: ['echo'],
      versions_left: ['1.3.0'],
      warnings: ['the route table still names echo#1.2.0'],
    };
    const one = await reach(['unregister', 'echo#1.2.0'], { status: 200, body: removed });
    expect(one.code).toBe(0);
    expect(one.out).toBe(
      '✓ echo#1.2.0  removed with 2 instances and the circuit breakers of echo; left: 1.3.0\n  the route table still names echo#1.2.0\n',
    );
    expect(gateway.seen[0]).toMatchObject({ method: 'DELETE', path: '/v1/agents/echo' });
    expect(String(gateway.seen[0]?.query)).toBe('version=1.2.0');
    const all = await reach(['unregister', 'echo', '--json'], { status: 204, body: undefined });
    expect([all.code, JSON.parse(all.out)]).toEqual([0, { agent_name: 'echo', removed: true }]);
    expect(String(gateway.seen[1]?.query)).toBe('');
    // An empty version is not all of them.
    for (const args of [['echo#'], ['echo', '--agent-version', ''], ['echo#1.2.0', '--agent-version', '1.3.0']])
      expect((await reach(['unregister', ...args], { status: 204, body: undefined })).code).toBe(2);
    expect(gateway.seen).toHaveLength(2);
  });

  it('finds the gateway by its configuration when nothing else names it', async () => {
    const { port } = new URL(gateway.url);
    const config = file('agent-reach.yaml', `server: {port: ${port}}\n`);
    expect((await reach(['agents', '--config', config], { status: 200, body: { items: [] } }, { env: {} })).code).toBe(
      0,
    );
    expect(gateway.seen).toHaveLength(1);
  });

  it.each(['::', '::1'])('finds one that listens on %s', async (host) => {
    const config = file('agent-reach.yaml', `server: {host: '${host}', port: 1}\nsecurity: {api_key_env: KEY}\n`);
    const { code, err } = await cli(['agents', '--config', config], { env: { KEY: 'k'.repeat(32) } });
    expect(code).not.toBe(2);
    expect(err).toContain('http://[::1]:1');
  });
});

describe('help', () => {
  it('names every command with examples, and ends with 0', async () => {
    const { code, out } = await cli(['--help']);
    expect(code).toBe(0);
    for (const name of [
      'dev',
      'gateway',
      'worker',
      'register',
      'unregister',
      'agents',
      'abilities',
      'route',
      'invoke',
      'send',
      'get',
      'list',
      'trace',
      'cancel',
      'dead-letters',
      'recover',
    ]) {
      expect(out).toMatch(new RegExp(`^  ${name}\\b`, 'm'));
      const help = await cli([name, '--help']);
      expect(help.code).toBe(0);
      expect(help.out).toContain('$ agent-reach');
      expect(help.out).toContain('--json');
    }
  });

  it('tells its version', async () => {
    expect(await cli(['--version'])).toEqual({ code: 0, out: expect.stringMatching(/^\d+\.\d+\.\d+/), err: '' });
  });
});
