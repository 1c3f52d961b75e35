import { createColors } from 'picocolors';
import { problem, ScriptedGateway, type Reply } from '../sdk/scripted-gateway';
import { cli } from './cli-io';

/** Clears the screen, sets the title, goes back to column 1, CSI as C1, DEL, turns the reading order, and a colour. */
const EVIL = 'a\u001b[2Jb\u001b]0;owned\u0007c\rd\u009b31me\u007ff\u202eg\u2066h\u001b[31mi\u0000';
const CLEAN = 'a\ufffd[2Jb\ufffd]0;owned\ufffdc\ufffdd\ufffd31me\ufffdf\ufffdg\ufffdh\ufffd[31mi\ufffd';
const FORBIDDEN = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069]/;
const OUR_COLORS = /\u001b\[(?:1|2|22|3[1-6]|39)m/g;

const INSTANCE = { status: 'ready', in_flight: 0, max_concurrency: 1, since: EVIL, instance_id: EVIL, version: EVIL };
const STATS = { requests: 0, in_flight: 0, p50_ms: null, p95_ms: null, p99_ms: null, failure_rate: null };
const AGENT = {
  name: EVIL,
  versions: [{ version: EVIL, registered_at: EVIL, descriptor: { description: EVIL, accepted_message_types: [EVIL] } }],
  instances: [{ ...INSTANCE, health: EVIL, host: EVIL, status_reason: EVIL }],
  abilities: [{ name: EVIL, agent_version: EVIL, description: EVIL }],
  stats: STATS,
  status: EVIL,
};
const OFFERING = { ...AGENT, versions: [{ descriptor: { capabilities: [{ name: EVIL, description: EVIL }] } }] };
const FINDING = { id: EVIL, severity: 'warning', subject: EVIL, measured: EVIL, why: EVIL, fix: EVIL, command: EVIL };
const COUNTS = { ok: 0, info: 0, warning: 1, error: 0 };
const WHO = { agent_name: EVIL, agent_version: EVIL, route_reason: EVIL, reach_id: EVIL, ability: EVIL };
const ABILITY = { name: EVIL, description: EVIL, agents: [{ ...WHO, status: EVIL, description: EVIL }] };
const RESULT = {
  ...WHO,
  status: 'completed',
  instance: EVIL,
  attempts: 1,
  duration_ms: 1,
  confidence: 1,
  output: { answer: EVIL },
};
const ATTEMPT = { ...WHO, n: 1, instance: EVIL, duration_ms: 1, received: EVIL, code: EVIL, message: EVIL };
const DIAGNOSIS = {
  reason: EVIL,
  message: EVIL,
  closest: [{ name: EVIL, why: EVIL }],
  agents: [{ ...WHO, detail: EVIL }],
  available_versions: [EVIL],
};
const PROBLEM = { detail: EVIL, errors: [{ pointer: EVIL, message: EVIL, fix: EVIL }], diagnosis: DIAGNOSIS, ...WHO };
const FAILED = {
  ...WHO,
  status: 'dead_lettered',
  accepted_at: EVIL,
  ended_at: EVIL,
  links: { temporal: EVIL },
  error: { code: 'agent_timeout', ...PROBLEM },
  attempts: [ATTEMPT],
};
const RECEIPT = { ...WHO, status: 'accepted', stage: EVIL, expires_in_ms: 1, links: { temporal: EVIL } };
const TRACE = {
  ...WHO,
  trace_id: EVIL,
  status: EVIL,
  started_at: '2026-03-01T12:00:00Z',
  duration_ms: 5,
  hops: [
    {
      ...WHO,
      name: EVIL,
      outcome: EVIL,
      reason: EVIL,
      children: [EVIL],
      started_at: '2026-03-01T12:00:00Z',
      duration_ms: 5,
    },
  ],
};
const ROUTE = {
  ...WHO,
  agent_name: null,
  code: EVIL,
  candidates: [],
  excluded: [{ ...WHO, reason: EVIL }],
  excluded_count: 1,
  diagnosis: DIAGNOSIS,
  errors: [{ pointer: EVIL, message: EVIL }],
};
const ok = (body: unknown): Reply => ({ status: 200, body });

let gateway: ScriptedGateway;
let reply: Reply;

beforeAll(async () => void (gateway = await ScriptedGateway.start(() => reply)));
afterAll(() => gateway.close());

function reach(args: readonly string[], answer: Reply, colors = true) {
  reply = answer;
  const color = createColors(colors);
  return cli(args, {
    env: { AGENT_REACH_URL: gateway.url },
    color,
    errColor: color,
    stdin: 'name: x\n',
  });
}

it.each<[string[], Reply]>([
  [['agents'], ok({ items: [AGENT] })],
  [['agents', 'x'], ok(AGENT)],
  [['abilities'], ok({ items: [ABILITY] })],
  [['abilities', 'x'], ok(ABILITY)],
  [['abilities', '--codegen'], ok({ items: [OFFERING] })],
  [['abilities', '--codegen', 'python', '--json'], ok({ items: [OFFERING] })],
  [['doctor', '--all'], ok({ checked_at: EVIL, findings: [FINDING], counts: COUNTS })],
  [['abilities', '--search', 'x'], ok({ results: [{ ...WHO, score: 1, confidence: 1 }] })],
  [['list'], ok({ items: [{ ...WHO, status: EVIL, source_agent: EVIL, accepted_at: EVIL }], next_cursor: EVIL })],
  [['invoke', 'x'], ok(RESULT)],
  [['invoke', 'x'], ok({ ...RESULT, output: { [EVIL]: [EVIL] } })],
  [['invoke', 'x'], problem('agent_timeout', 504, { ...PROBLEM, attempts: [ATTEMPT] })],
  [['invoke', 'x', '--json'], problem('agent_timeout', 504, { ...PROBLEM, attempts: [ATTEMPT] })],
  [['get', 'x'], ok(RESULT)],
  [['get', 'x'], ok(FAILED)],
  [['send', 'x'], { status: 202, body: RECEIPT }],
  [['trace', 'x'], ok(TRACE)],
  [['route', 'x'], ok(ROUTE)],
  [['register', '-'], ok({ name: EVIL, version: EVIL, outcome: EVIL, warnings: [EVIL] })],
  [['register', '-'], problem('invalid_descriptor', 400, PROBLEM)],
])('%j prints nothing that moves the cursor or turns text around, whatever the gateway says', async (args, answer) => {
  const { out, err } = await reach(args, answer);
  const said = (out + err).replace(OUR_COLORS, '');
  expect(said).toContain('owned'); // it did get as far as being printed
  expect(said).not.toMatch(FORBIDDEN);
  const plain = await reach(args, answer, false);
  expect(plain.out + plain.err).not.toMatch(FORBIDDEN); // above, a colour of the attacker's would have passed for ours
});

it('keeps our own colours', async () => {
  const { err } = await reach(['invoke', 'x'], ok(RESULT));
  expect(err).toContain('\u001b[32m✓\u001b[39m');
});

it('replaces each unsafe character in an answer that is text, and leaves line ends and tabs', async () => {
  expect((await reach(['invoke', 'x'], ok(RESULT))).out).toBe(`${CLEAN}\n`);
  const lines = { ...RESULT, output: { answer: 'one\r\n\ttwo\n退款' } };
  expect((await reach(['invoke', 'x'], ok(lines))).out).toBe('one\n\ttwo\n退款\n');
});

it('prints an answer that is an object as exact JSON, so that it can be piped', async () => {
  const output = { [EVIL]: EVIL };
  expect(JSON.parse((await reach(['invoke', 'x'], ok({ ...RESULT, output }))).out)).toEqual(output);
});

it('prints exact JSON with --json, in characters that a terminal takes', async () => {
  const { out } = await reach(['get', 'x', '--json'], ok(RESULT));
  expect(JSON.parse(out)).toEqual(RESULT);
  expect(out).not.toMatch(FORBIDDEN);
  expect(out).toContain('\\u009b');
  const failed = await reach(['get', 'x', '--json'], problem('agent_timeout', 504, PROBLEM));
  expect(JSON.parse(failed.out)).toMatchObject({ detail: EVIL, diagnosis: DIAGNOSIS });
  expect(failed.out).not.toMatch(FORBIDDEN);
});

describe('the URL of the gateway', () => {
  it.each(['nonsense', 'ftp://host', ''])('--url "%s" is a usage error that says how to write it', async (url) => {
    const { code, err } = await cli(['agents', '--url', url]);
    expect(code).toBe(2);
    expect(err).toMatch(/^usage: --url must name the gateway by an http\(s\) URL such as http:\/\/127\.0\.0\.1:8080/);
  });

  it('AGENT_REACH_URL is held to the same', async () => {
    const { code, err } = await cli(['agents'], { env: { AGENT_REACH_URL: 'localhost:8080' } });
    expect(code).toBe(2);
    expect(err).toContain('AGENT_REACH_URL must name');
  });
});

it('warns that --api-key shows in ps', async () => {
  expect((await cli(['--help'])).out.replace(/\s+/g, ' ')).toMatch(/--api-key.*`ps` shows it.*AGENT_REACH_API_KEY/);
});
