import { keepWarm, type WarmingParts } from './keep-warm';

const agent = (name: string) => ({ descriptor: { name } }) as unknown as ReturnType<WarmingParts['agents']>[number];

function scripted(outcomes: ('well' | 'fails')[]) {
  const told: string[] = [];
  const world = { agents: [agent('one')], calls: 0, changed: () => {} };
  const warming = keepWarm({
    warm: async () => {
      if (outcomes[world.calls++] === 'fails') throw new Error('the endpoint is down');
    },
    agents: () => world.agents,
    onChange(listener) {
      world.changed = listener;
      return () => (world.changed = () => {});
    },
    logger: { warn: () => void told.push('warn'), info: () => void told.push('info') },
  });
  return { warming, world, told };
}

beforeEach(() => jest.useFakeTimers());
afterEach(() => jest.useRealTimers());

test('what failed at the start is tried again until it works, and said once', async () => {
  const { warming, world, told } = scripted(['fails', 'fails', 'well']);
  await jest.advanceTimersByTimeAsync(0);
  expect([world.calls, warming.state()]).toEqual([1, 'lexical']);
  await jest.advanceTimersByTimeAsync(1_000);
  expect([world.calls, warming.state()]).toEqual([2, 'lexical']);
  await jest.advanceTimersByTimeAsync(2_000);
  expect([world.calls, warming.state(), told]).toEqual([3, 'ready', ['warn', 'info']]);
  await jest.advanceTimersByTimeAsync(120_000);
  expect(world.calls).toBe(3);
});

test('only new descriptors are a reason to compute', async () => {
  const { warming, world } = scripted([]);
  await jest.advanceTimersByTimeAsync(0);
  world.changed();
  expect(world.calls).toBe(1);
  world.agents = [...world.agents, agent('two')];
  world.changed();
  expect([world.calls, warming.state()]).toEqual([2, 'warming']);
  await jest.advanceTimersByTimeAsync(0);
  expect(warming.state()).toBe('ready');
});

test('of many that come while it computes, one more round takes all', async () => {
  const { warming, world } = scripted([]);
  for (let n = 0; n < 50; n += 1) {
    world.agents = [...world.agents, agent(`agent-${n}`)];
    world.changed();
  }
  await jest.advanceTimersByTimeAsync(0);
  expect([world.calls, warming.state()]).toEqual([2, 'ready']);
});

test('stopped, it tries no more', async () => {
  const waiting = scripted(['fails']);
  await jest.advanceTimersByTimeAsync(0);
  waiting.warming.stop();
  const running = scripted(['fails']);
  running.warming.stop();
  await jest.advanceTimersByTimeAsync(120_000);
  expect([waiting.world.calls, running.world.calls]).toEqual([1, 1]);
});
