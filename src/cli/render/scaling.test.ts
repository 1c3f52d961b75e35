import { createColors } from 'picocolors';
import type { ScalingHint } from '../../sdk/scaling';
import { renderScaling } from './scaling';

const io = { columns: undefined, color: createColors(false) };
const service = { mean: 640, p50: 520, p95: 1_580, p99: 2_350 };

const hint = (more: Partial<ScalingHint>, current: Partial<ScalingHint['current']> = {}): ScalingHint => ({
  agent_name: 'desk',
  agent_version: '1.0.0',
  current: {
    instances: 2,
    max_concurrency: 8,
    bulkhead_limit: 8,
    arrival_per_sec: 18.24,
    arrival_per_sec_1m: 20,
    calls_per_sec: 18,
    service_ms: { ...service, cv2: 0.7 },
    utilisation: 1.46,
    in_flight: 8,
    queue_depth: 31,
    wait_ms_p95_estimate: null,
    ...current,
  },
  earlier: null,
  recommended: { instances: 4, reason: 'more messages: 9.1/s → 18/s', bulkhead_limit: 43 },
  cause: 'more_messages',
  confidence: 0.9,
  samples: { arrivals: 5_460, services: 5_370, window_sec: 300 },
  advice: ['Run 4 instances instead of 2'],
  abilities: [],
  ...more,
});

it('shows a row for each agent, and below it why and what to do', () => {
  const text = renderScaling([hint({})], io);
  expect(text).toMatch(/AGENT +NOW +SHOULD +LOAD +TAKEN/);
  expect(text).toMatch(/desk#1\.0\.0 +2 +4 ↑ +18\.2\/s +146 % +520 ms +2\.4 s +grows +31 +more messages +90 %/);
  expect(text).toMatch(/desk#1\.0\.0: more messages: 9\.1\/s → 18\/s\.\n {2}→ Run 4 instances instead of 2\.$/);
});

it('has no sentence for what is as it should be', () => {
  const steady = { cause: 'steady' as const, recommended: { instances: 2, reason: 'fits', bulkhead_limit: 8 } };
  const text = renderScaling([hint(steady, { utilisation: 0.4, wait_ms_p95_estimate: 12 })], io);
  expect(text.split('\n')).toHaveLength(2);
  expect(text).toMatch(/ 2 +18\.2\/s +40 % .* 12 ms /);
});

it('says so when there are no agents', () => {
  expect(renderScaling([], io)).toBe('no agents are registered');
});

it('is silent about an agent that nobody asks and that has what it should', () => {
  const quiet = {
    cause: 'no_data' as const,
    recommended: { instances: 2, reason: 'nothing lately', bulkhead_limit: null },
  };
  expect(renderScaling([hint(quiet)], io).split('\n')).toHaveLength(2);
  expect(renderScaling([hint(quiet, { instances: 0 })], io)).toContain('desk#1.0.0: nothing lately');
});
