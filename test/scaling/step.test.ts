/** What hints say while the load of an agent steps up: counted by the real windows, second by second, in simulated time. */
import { fewestServers } from '../../src/policy/queueing';
import { scalingHint, type AgentFacts } from '../../src/policy/scaling';
import { DemandWindows } from '../../src/registry/stats/demand/demand-windows';
import { mergeDemand } from '../../src/registry/stats/demand/merge-demand';
import { exponential, seeded } from './queue-simulation';

const SERVICE_MS = 400;
const settings = { targetUtilisation: 0.8, targetWaitMs: null };
/** Any moment: slots are ten seconds of the wall clock. */
const STEP_SEC = 1_800_000_000;
const SINCE_SEC = STEP_SEC - 1_200;

/** Recommended instances by second after the step; `instances`, of one place each, is what there is. */
function hintsAfter({ from, to, instances }: { from: number; to: number; instances: number }, seed: number) {
  const random = seeded(seed);
  const windows = new DemandWindows();
  const told: { atSec: number; instances: number }[] = [];
  let nextSec = SINCE_SEC;
  for (let nowSec = SINCE_SEC; nowSec <= STEP_SEC + 75; nowSec += 5) {
    for (; nextSec <= nowSec; nextSec += exponential(random, 1 / (nextSec < STEP_SEC ? from : to))) {
      windows.arrived(nextSec);
      windows.called(nextSec);
      windows.served(exponential(random, SERVICE_MS), nextSec);
    }
    windows.advance(nowSec);
    if (nowSec < STEP_SEC) continue;
    const id = { version: '1.0.0', ability: 'work' };
    const now = { sinceSec: SINCE_SEC, queue: 0, series: [{ ...id, ...windows.recentDigest() }] };
    const earlier = { series: [{ ...id, blocks: windows.earlierDigest() }] };
    const abilities = mergeDemand([{ now, earlier }], { nowSec: nowSec + 0.5, sinceSec: SINCE_SEC });
    const facts: AgentFacts = {
      instances,
      lostInstances: 0,
      maxConcurrency: instances,
      bulkheadLimit: 1_000,
      inFlight: 0,
      queueDepth: 20,
      breakers: [],
      abilities,
      pulls: false,
    };
    told.push({ atSec: nowSec - STEP_SEC, instances: scalingHint(facts, settings).instances });
  }
  return told;
}

const SEEDS = [1, 2, 3, 4];

/** What the new load needs once nothing is left of the old one. */
function neededFor(perSec: number): number {
  const queue = { arrivalsPerMs: perSec / 1_000, meanServiceMs: SERVICE_MS, arrivalCv2: 1, serviceCv2: 1 };
  return fewestServers(queue, { utilisation: settings.targetUtilisation, waitP95Ms: 5 * SERVICE_MS });
}

it.each([
  { from: 2, to: 8, instances: 1 },
  { from: 1, to: 10, instances: 1 },
  { from: 5, to: 19, instances: 4 },
  { from: 10, to: 58, instances: 6 },
  { from: 10, to: 19, instances: 6 },
])('follow a step from $from/s to $to/s within a minute, and not beyond what it needs', (step) => {
  const needed = neededFor(step.to);
  const most = SEEDS.map((seed) => {
    const told = hintsAfter(step, seed);
    const at = (sec: number) => told.find(({ atSec }) => atSec === sec)!.instances;
    expect(at(60)).toBeGreaterThan(step.instances);
    expect(at(75)).toBeGreaterThanOrEqual(Math.floor(needed * 0.9));
    return Math.max(...told.filter(({ atSec }) => atSec <= 60).map(({ instances }) => instances));
  });
  // What was measured of a service has its own error: one in four may be told one too many.
  expect(Math.max(...most)).toBeLessThanOrEqual(needed + 1);
  expect(most.filter((instances) => instances > needed).length).toBeLessThanOrEqual(1);
});
