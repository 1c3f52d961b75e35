import { agent, instance, world } from '../../../test/routing/fixtures';
import type { DescriptorDraft } from '../../protocol/descriptor';
import type { Finding } from '../../protocol/doctor';
import {
  bulkheadsSeen,
  checkBreakers,
  checkBulkheads,
  checkHealthIntervals,
  checkLeases,
  checkReadiness,
} from './agents';
import { checkDescriptions, checkNames, checkOverlap } from './names';
import { checkGroups, checkHealthThreshold, checkMeaning, checkWeights } from './settings';

const one = (
  draft: Partial<DescriptorDraft> & { name: string },
  ...rest: Parameters<typeof agent> extends [unknown, ...infer R] ? R : never
) => agent({ version: '1.0.0', capabilities: ['work'], ...draft }, ...rest);
const described = (draft: Partial<DescriptorDraft> & { name: string }) => one(draft).descriptor;

/** Severity, subject and what was measured. */
const told = (findings: Finding[]) => findings.map(({ severity, subject, measured }) => [severity, subject, measured]);
/** Everything but what is well says why and what to do. */
function complete(findings: Finding[]): Finding[] {
  for (const finding of findings)
    if (finding.severity !== 'ok' && finding.checked !== false && !finding.measured.startsWith('and '))
      expect(finding).toMatchObject({ why: expect.stringMatching(/\S/), fix: expect.stringMatching(/\S/) });
  return findings;
}

describe('names', () => {
  it('that would be mixed up, of abilities and of agents', async () => {
    const found = complete(
      await checkNames([
        described({ name: 'refund_agent', capabilities: ['intent_classify', 'refund_create'] }),
        described({ name: 'refund_agnet', capabilities: ['intent_classification', 'refund_cancel'] }),
      ]),
    );
    expect(told(found).map(([severity, subject]) => [severity, subject])).toEqual([
      ['warning', 'intent_classification, intent_classify'],
      ['warning', 'refund_agent, refund_agnet'],
    ]);
  });

  it('are well when each says something else, and the same ability of many agents is one name', async () => {
    const descriptors = ['a', 'b'].map((name) => described({ name, capabilities: ['translate'] }));
    expect(told(await checkNames(descriptors))).toEqual([['ok', undefined, '1 abilities of 2 agents, all told apart']]);
  });

  it('make room for others while many are compared', async () => {
    const capabilities = Array.from({ length: 600 }, (_, n) => `task${String.fromCharCode(97 + (n % 26))}${n}`);
    let done = false;
    const checking = checkNames([described({ name: 'many', capabilities })]).then(() => (done = true));
    await new Promise((resolve) => setImmediate(resolve));
    expect(done).toBe(false);
    await checking;
  });

  it('are told for the first twenty, and counted', async () => {
    const names = Array.from({ length: 30 }, (_, n) => `${String.fromCharCode(97 + (n % 26)).repeat(3)}${n}`);
    const capabilities = names.flatMap((name) => [`${name}_translate`, `${name}_translation`]);
    const found = await checkNames([described({ name: 'many', capabilities })]);
    expect(found).toHaveLength(21);
    expect(found.at(-1)).toMatchObject({ severity: 'info', measured: 'and 10 more like these' });
  });
});

describe('descriptions', () => {
  it.each([
    ['', [], 'warning', 'has no description'],
    ['refunds', [], 'warning', 'is described with "refunds" only'],
    ['退款', ['我要退款'], 'warning', 'is described with "退款" only'],
    ['处理客户的退款申请和进度', ['退款'], 'ok', '1 abilities have descriptions and examples'],
    ['Answers where the money of a return is', [], 'info', 'has no examples'],
    [
      'Answers where the money of a return is',
      ['where is my money'],
      'ok',
      '1 abilities have descriptions and examples',
    ],
  ])('%j with %j: %s', (description, examples, severity, measured) => {
    const found = complete(
      checkDescriptions([described({ name: 'a', capabilities: [{ name: 'work', description, examples }] })]),
    );
    expect(found).toEqual([expect.objectContaining({ severity, measured })]);
  });

  const hits = (...scores: [ability: string, score: number][]) =>
    scores.map(([ability, score]) => ({ ability, score }));

  it('that say the same of two abilities are told once', () => {
    const found = complete(
      checkOverlap([
        { ability: 'a', kind: 'description', text: 'x', hits: hits(['a', 0.9], ['b', 0.89]) },
        { ability: 'b', kind: 'description', text: 'y', hits: hits(['a', 0.9], ['b', 0.9]) },
        { ability: 'c', kind: 'description', text: 'z', hits: hits(['c', 0.9], ['b', 0.6]) },
      ]),
    );
    expect(told(found)).toEqual([['warning', 'a, b', 'the description of a fits b with 0.89, itself with 0.90']]);
  });

  it('and examples that are nearer to another ability', () => {
    const example = { ability: 'a', kind: 'example' as const, text: "don't" };
    const found = complete(checkOverlap([{ ...example, hits: hits(['b', 0.8], ['a', 0.5]) }]));
    expect(told(found)).toEqual([['warning', 'a', 'its example "don\'t" is nearer to b (0.80) than to itself (0.50)']]);
    expect(found[0]?.command).toBe(String.raw`agent-reach abilities --search 'don'\''t'`);
    expect(checkOverlap([{ ...example, hits: hits(['b', 0.51], ['a', 0.5]) }])[0]?.severity).toBe('ok');
  });
});

describe('health', () => {
  it('intervals over a quarter of the breaker window', () => {
    const slow = described({ name: 'slow', health_check: { interval_sec: 31 } });
    const fast = described({ name: 'fast', health_check: { interval_sec: 30 } });
    expect(told(complete(checkHealthIntervals([slow, fast], 120)))).toEqual([
      ['warning', 'slow#1.0.0', 'health_check.interval_sec is 31, the breaker window 120 s'],
    ]);
    expect(checkHealthIntervals([fast], 120)[0]?.severity).toBe('ok');
  });

  it('agents that nobody can call; an old version beside a ready one is only worth knowing', () => {
    const agents = [
      one({ name: 'never' }, []),
      one({ name: 'sick' }, [instance({ status: 'unavailable' })]),
      one({ name: 'busy' }, [instance({ status: 'busy' })]),
      one({ name: 'two' }, []),
      one({ name: 'two', version: '2.0.0' }),
    ];
    expect(complete(checkReadiness(agents)).map(({ severity, subject }) => [severity, subject])).toEqual([
      ['warning', 'never#1.0.0'],
      ['warning', 'sick#1.0.0'],
      ['info', 'two#1.0.0'],
    ]);
  });

  it('leases under ten heartbeats', () => {
    const leases = [15, 30].map((ttlSec) => ({ agent: 'a', instance: `i-${ttlSec}`, ttlSec }));
    expect(told(complete(checkLeases(leases)))).toEqual([
      ['warning', 'i-15 of a', 'its lease lasts 15 s, 4 heartbeats may be lost'],
    ]);
  });

  it("bulkheads smaller than Little's law", () => {
    const agents = [
      one({ name: 'small', qps: 50 }, [instance({ max_concurrency: 40 })]),
      one({ name: 'right', qps: 50 }, [instance({ max_concurrency: 75 })]),
      one({ name: 'by_hand', qps: 50 }, [instance({ max_concurrency: 100 })]),
      one({ name: 'silent' }),
    ];
    const stats = Object.fromEntries(agents.map(({ name }) => [`${name}#1.0.0/work`, { p99_ms: 1_500 }]));
    const { stats: lookup } = world({ agents, stats });
    const found = complete(checkBulkheads(bulkheadsSeen(agents, lookup, { by_hand: 10 })));
    expect(told(found)).toEqual([
      ['warning', 'small', '40 calls at once (max_concurrency of its instances together); 50/s × p99 1500 ms = 75'],
      ['warning', 'by_hand', '10 calls at once (bulkhead.limits.by_hand); 50/s × p99 1500 ms = 75'],
    ]);
  });

  it('breakers that hold back, and those held by hand', () => {
    const key = { agentName: 'a', agentVersion: '1.0.0', ability: 'work' };
    const view = { since: '2026-03-01T12:00:00Z', error_rate: 1, requests: 20, share: 0 };
    const override = {
      state: 'closed',
      reason: 'x',
      by: 'ops',
      set_at: '2026-03-01T12:00:00Z',
      expires_at: null,
    } as const;
    const found = complete(
      checkBreakers([
        { key, view: { ...view, state: 'open', reason: '14 of 20 calls failed' } },
        { key, view: { ...view, state: 'closed', share: 1, override } },
        { key, view: { ...view, state: 'closed' } },
      ]),
    );
    expect(found.map(({ severity, command }) => [severity, command])).toEqual([
      ['warning', 'agent-reach breakers'],
      ['info', 'agent-reach breakers auto a work'],
    ]);
  });
});

describe('settings', () => {
  const weights = { semantic_similarity: 0.6, latency_score: 0.2, reliability_score: 0.2 };
  const enabledFactors = ['semantic_similarity', 'latency_score', 'reliability_score'] as const;
  const exploration = { rate: 0.1, band: 0.05 };

  it.each([
    [{}, [['ok', undefined]]],
    [
      { weights: { ...weights, semantic_similarity: 0.4, reliability_score: 0.4 } },
      [['warning', 'router.weights.reliability_score']],
    ],
    [
      { weights: { ...weights, semantic_similarity: 0, latency_score: 0.7, reliability_score: 0.3 } },
      [['warning', 'router.weights.semantic_similarity']],
    ],
    [{ weights: { ...weights, latency_score: 0.4 } }, [['info', 'router.weights']]],
    [{ exploration: { rate: 0, band: 0.05 } }, [['info', 'router.exploration']]],
    [{ exploration: { rate: 0.9, band: 0.05 } }, [['warning', 'router.exploration']]],
  ])('%j', (settings, expected) => {
    const found = complete(checkWeights({ weights, enabledFactors, exploration, ...settings }));
    expect(found.map(({ severity, subject }) => [severity, subject])).toEqual(expected);
  });

  it('the health threshold, and degraded mode', () => {
    expect(checkHealthThreshold(0.3, null)[0]?.severity).toBe('ok');
    expect(complete(checkHealthThreshold(0.1, null))[0]).toMatchObject({ severity: 'warning', measured: 'it is 0.1' });
    expect(complete(checkHealthThreshold(0.3, { healthyShare: 0.1, since: 'noon' }))[0]?.severity).toBe('error');
  });

  it('groups that nobody carries, with the one that was probably meant', () => {
    const carried = new Map([
      ['Beta', 40],
      ['default', 100],
    ]);
    const found = complete(checkGroups({ routed: ['beta', 'default', 'beta'], carried, sinceMs: 60_000 }));
    expect(told(found)).toEqual([
      [
        'warning',
        'beta',
        'none of 140 requests to this gateway in 1 min carried the group beta; some carried Beta (case)',
      ],
    ]);
    const early = checkGroups({ routed: ['vip'], carried: new Map(), sinceMs: 5_000 });
    expect(early[0]?.severity).toBe('info');
    expect(checkGroups({ routed: [], carried, sinceMs: 1 })[0]).toMatchObject({
      severity: 'ok',
      measured: 'no routes',
    });
  });

  it('meaning', () => {
    expect(checkMeaning('ready', true)[0]?.severity).toBe('ok');
    expect(complete(checkMeaning('warming', true))[0]?.severity).toBe('info');
    expect(complete(checkMeaning('lexical', false))[0]?.severity).toBe('warning');
    expect(complete(checkMeaning('lexical', true))[0]?.severity).toBe('error');
  });
});
