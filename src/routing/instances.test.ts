import fc from 'fast-check';
import { agent, instance, world } from '../../test/routing/fixtures';
import { LexicalMatcher } from '../embeddings';
import type { InstanceState } from '../protocol/shapes';
import type { AbilityStats } from '../protocol/world';
import { DEFAULT_ROUTER_CONFIG, Router } from './index';
import { instanceWeight, pickWeighted } from './instances';

const WEIGHTS = DEFAULT_ROUTER_CONFIG.instanceWeights;

function routerOf(
  instances: InstanceState[],
  random: () => number,
  stats: Record<string, Partial<AbilityStats>> = {},
): Router {
  const view = world({ agents: [agent({ name: 'a', version: '1.0.0', capabilities: ['work'] }, instances)], stats });
  return new Router({ world: () => view, matcher: new LexicalMatcher(), config: DEFAULT_ROUTER_CONFIG, random });
}

describe('instanceWeight (R18)', () => {
  const measured: AbilityStats = { requests: 10, failures: 1, p50_ms: 1000, p95_ms: null, p99_ms: null, in_flight: 0 };

  test('is max(0,1-load)*0.5 + 1/(1+p50_ms/1000)*0.3 + (1-failure_rate)*0.2', () => {
    expect(instanceWeight(instance({ load: 0.25 }), () => measured, WEIGHTS)).toBeCloseTo(
      0.75 * 0.5 + 0.5 * 0.3 + 0.9 * 0.2,
      6,
    );
    expect(instanceWeight(instance({ load: 1.7 }), () => measured, WEIGHTS)).toBeCloseTo(0.5 * 0.3 + 0.9 * 0.2, 6);
  });

  test('is within 0–1, whatever is measured or reported', () => {
    const number = fc.double();
    fc.assert(
      fc.property(
        number,
        number,
        number,
        fc.option(fc.double({ noNaN: true }), { nil: null }),
        (load, requests, failures, p50_ms) => {
          const weight = instanceWeight(
            instance({ load }),
            () => ({ ...measured, requests, failures, p50_ms }),
            WEIGHTS,
          );
          expect(weight).toBeGreaterThanOrEqual(0);
          expect(weight).toBeLessThanOrEqual(1);
        },
      ),
    );
  });
});

describe('pickInstance', () => {
  const busy = instance({ instance_id: 'busy', load: 0.9 });
  const idle = instance({ instance_id: 'idle', load: 0.1 });

  test('draws by weight', () => {
    let calls = 0;
    const evenly = () => (((calls++ * 0.618034) % 1) + 1) % 1;
    const router = routerOf([busy, idle], evenly, {
      idle: { requests: 100, p50_ms: 10 },
      busy: { requests: 100, p50_ms: 2000 },
    });
    const drawn = Array.from({ length: 2000 }, () => router.pickInstance('a', '1.0.0', 'work')!.instance_id);
    const weightOf = { busy: 0.05 + 0.1 + 0.2, idle: 0.45 + 0.3 / 1.01 + 0.2 };
    const expected = weightOf.idle / (weightOf.idle + weightOf.busy);
    expect(drawn.filter((id) => id === 'idle').length / drawn.length).toBeCloseTo(expected, 1);
  });

  test('leaves out what is not ready, has no address, or is excluded', () => {
    const others = [
      instance({ instance_id: 'pull', host: null }),
      instance({ instance_id: 'full', in_flight: 4 }),
      instance({ instance_id: 'draining', status: 'draining' }),
    ];
    expect(routerOf(others, () => 0).pickInstance('a', '1.0.0', 'work')).toBeNull();
    const router = routerOf([...others, idle, busy], () => 0);
    expect(router.pickInstance('a', '1.0.0', 'work')?.instance_id).toBe('idle');
    expect(router.pickInstance('a', '1.0.0', 'work', { exclude: ['idle'] })?.instance_id).toBe('busy');
    expect(router.pickInstance('a', '1.0.0', 'work', { exclude: ['idle', 'busy'] })).toBeNull();
    expect(router.pickInstance('a', '9.9.9', 'work')).toBeNull();
    expect(router.pickInstance('a', '1.0.0', 'rest')).toBeNull();
  });

  test('leaves out what is full by the live count, or by what the caller says instead', () => {
    const countOf = (in_flight: number) => ({ idle: { in_flight } });
    const picked = (inFlight: number, isFull?: (one: InstanceState) => boolean) =>
      routerOf([idle, busy], () => 0, countOf(inFlight)).pickInstance('a', '1.0.0', 'work', { isFull })?.instance_id;
    expect(picked(3)).toBe('idle');
    expect(picked(4)).toBe('busy');
    expect(picked(5)).toBe('busy');
    expect(picked(0, ({ instance_id }) => instance_id === 'idle')).toBe('busy');
    expect(picked(4, ({ instance_id }) => instance_id === 'busy')).toBe('idle');
    const unlimited = instance({ instance_id: 'idle', max_concurrency: null });
    expect(routerOf([unlimited], () => 0, countOf(1000)).pickInstance('a', '1.0.0', 'work')).toBe(unlimited);
  });
});

test('pickWeighted: never a weight of 0 beside others, uniform when all are 0, null of nothing', () => {
  const random = fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true });
  fc.assert(
    fc.property(random, fc.array(fc.constantFrom(0, 0.1, 1), { minLength: 1, maxLength: 5 }), (draw, weights) => {
      const picked = pickWeighted(
        weights,
        (w) => w,
        () => draw,
      );
      expect(picked === 0 && weights.some((w) => w > 0)).toBe(false);
    }),
  );
  expect(
    pickWeighted(
      ['x', 'y'],
      () => 0,
      () => 0.5,
    ),
  ).toBe('y');
  expect(
    pickWeighted(
      [],
      () => 1,
      () => 0.5,
    ),
  ).toBeNull();
});
