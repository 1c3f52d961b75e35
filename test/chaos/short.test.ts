/**
 * A few rows of the fault matrix, scaled down, on one platform of their own: the engines are killed here, so those that
 * other suites share will not do. `npm run chaos` runs all rows at full scale.
 */
import { openStage, type Stage } from './harness/stage';
import { runScenario } from './harness/run-scenario';
import { SCENARIOS } from './rows';

const SEED = 1;
const SCALE = 0.3;

let stage: Stage;

beforeAll(async () => {
  stage = await openStage({ gateways: 2, workers: 2 });
});
afterAll(() => stage.close());

describe('under faults every promise is kept', () => {
  it.each([21, 1, 25, 4, 7])('row %i of the matrix', async (row) => {
    const scenario = SCENARIOS.find((each) => each.row === row)!;
    const report = await runScenario(scenario, {
      seed: SEED,
      scale: SCALE,
      reaches: 100,
      signal: new AbortController().signal,
      say: () => undefined,
      stage,
    });
    const { violations, problems, verdict } = report;
    expect({ violations, problems, verdict }).toEqual({ violations: [], problems: [], verdict: 'passed' });
  });
});
