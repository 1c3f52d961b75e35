import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Candidate, RouteExplanation, Trace } from '../../../src/sdk/client';
import { accuracy } from './accuracy';
import type { Outcome } from './dispatch';
import { mostTelling, waterfall } from './explain';
import { readOptions } from './options';
import { ticketTable } from './table';
import { colorsFor, displayWidth } from './text';
import { readTickets } from './tickets';

const canvas = { width: 120, colors: colorsFor({}) };

function candidate(agent_name: string, score: number): Candidate {
  const factors = { semantic_similarity: score, latency_score: 1, reliability_score: 1 };
  return {
    agent_name,
    agent_version: '1.0.0',
    ability: 'ticket_disposition',
    score,
    cosine: score,
    factors,
    instances: [],
  };
}

interface Facts {
  id: string;
  agent?: string;
  expected?: string;
  scores?: Record<string, number>;
  attempts?: number;
  lang?: string;
}

function outcome({ id, agent, expected, scores = {}, attempts = 1, lang = 'zh' }: Facts): Outcome {
  const candidates = Object.entries(scores).map(([name, score]) => candidate(name, score));
  return {
    ticket: { id, lang, text: '退款显示成功了可是微信里没看到钱', agent: expected },
    ms: 12,
    route: { candidates, excluded: [] } as unknown as RouteExplanation,
    ...(agent
      ? {
          answered: {
            agent,
            reachId: 'r-1',
            routeReason: 'why',
            confidence: 1,
            attempts,
            output: { answer: '好的', confidence: 0.9, next_step: 'x' },
          },
        }
      : { failed: { code: 'no_ready_instance', detail: 'refund_agent is draining since 10:00' } }),
  };
}

const RIGHT = outcome({
  id: 'A',
  agent: 'refund_agent',
  expected: 'refund_agent',
  scores: { refund_agent: 0.9, soothing_agent: 0.3 },
});
const CLOSE = outcome({
  id: 'B',
  agent: 'refund_agent',
  expected: 'refund_agent',
  scores: { refund_agent: 0.9, soothing_agent: 0.8 },
});
const WRONG = outcome({
  id: 'C',
  agent: 'refund_agent',
  expected: 'soothing_agent',
  scores: { refund_agent: 0.9, soothing_agent: 0.2 },
  lang: 'en',
});
const MOVED = outcome({
  id: 'D',
  agent: 'soothing_agent',
  expected: 'refund_agent',
  scores: { refund_agent: 0.9, soothing_agent: 0.2 },
  attempts: 4,
});
const FAILED = outcome({ id: 'E', expected: 'refund_agent' });

it('draws rows of one width, with the score, who came second, and the diagnosis of what failed', () => {
  const [, ...rows] = ticketTable([RIGHT, WRONG, FAILED], canvas);
  expect(new Set(rows.map(displayWidth))).toEqual(new Set([120]));
  expect(rows[0]).toMatch(/^A .*✓ refund_agent +0\.90 +soothing 0\.30 .*好的 +0\.90 +12$/);
  expect(rows[1]).toContain('✗ refund_agent');
  expect(rows[2]).toMatch(/✗ nobody .*no_ready_instance: .* – +12$/);
});

it('counts by language and in all, failures as wrong, unjudged tickets not at all', () => {
  expect(accuracy([RIGHT, WRONG, FAILED, outcome({ id: 'F', agent: 'x' })])).toEqual({
    zh: { right: 1, of: 2 },
    en: { right: 0, of: 1 },
    all: { right: 1, of: 3 },
  });
});

it('explains what needed another attempt, else what went wrong, else the closest call', () => {
  expect(mostTelling([RIGHT, CLOSE, WRONG, MOVED])?.ticket.id).toBe('D');
  expect(mostTelling([RIGHT, CLOSE, WRONG])?.ticket.id).toBe('C');
  expect(mostTelling([RIGHT, CLOSE])?.ticket.id).toBe('B');
  expect(mostTelling([FAILED])).toBeUndefined();
});

it('draws hops where they lie on the time line', () => {
  const at = (ms: number) => new Date(Date.UTC(2030, 0, 1) + ms).toISOString();
  const hop = (name: 'route' | 'invoke', start: number, duration_ms: number, outcome = 'ok') => ({
    name,
    started_at: at(start),
    duration_ms,
    outcome,
  });
  const trace: Trace = {
    trace_id: 't',
    reach_id: 'r',
    status: 'completed',
    started_at: at(0),
    duration_ms: 100,
    hops: [hop('route', 0, 1), hop('invoke', 50, 25.4, 'agent_error'), hop('invoke', 99, 1)],
  };
  const bars = waterfall(trace, { ...canvas, width: 70 }).map((line) => /[█·]+/.exec(line)?.[0]);
  expect(bars).toEqual(['█···················', '··········█████·····', '···················█']);
  expect(waterfall(trace, canvas)[1]).toMatch(/25 ms .*agent_error/);
});

describe('arguments', () => {
  it('have defaults', () => {
    expect(readOptions([])).toEqual({ ticketsFile: undefined, concurrency: 4, keep: false, json: false });
    expect(readOptions(['--help'])).toBeNull();
  });

  it.each([['--concurrency', '0'], ['--concurrency', 'x'], ['--nope'], ['stray']])('%s %s is refused', (...args) => {
    expect(() => readOptions(args)).toThrow();
  });
});

describe('a tickets file', () => {
  let dir: string;
  beforeEach(() => void (dir = mkdtempSync(join(tmpdir(), 'tickets-'))));
  afterEach(() => rmSync(dir, { recursive: true }));

  const read = (text: string) => {
    const file = join(dir, 'tickets.jsonl');
    writeFileSync(file, text);
    return readTickets(file);
  };

  it('has a ticket a line', () => {
    const ticket = { id: 'A', lang: 'en', text: 'Hello' };
    expect(read(`\n${JSON.stringify(ticket)}\n\n`)).toEqual([ticket]);
  });

  it.each([
    ['{"id":"A","lang":"en","text":"x"}\nnope', /:2 is not JSON/],
    ['{"id":"A","text":""}', /:1 lacks lang, text/],
    ['null', /:1 lacks id, lang, text/],
    ['\n', /has no tickets/],
  ])('%j is refused with its line', (text, message) => {
    expect(() => read(text)).toThrow(message);
  });
});
