/** The compiled scenario of three agents on one ticket, end to end, on real engines: what `npm run demo:ticket` shows. */
import { DemoRun } from './run-demo';

let run: DemoRun | undefined;
afterEach(() => run?.cleanUp());

it('is cancelled as one tree, then runs to its end: conflict, event, callback', async () => {
  run = new DemoRun(null, [], 'one-ticket/main.js');
  const code = await run.exitCode();
  expect({ code, said: code === 0 ? '' : run.stderr }).toEqual({ code: 0, said: '' });
  const [cancelled = '', ended = ''] = run.stdout.split('Run to its end');
  expect(cancelled.match(/ cancelled /g)).toHaveLength(3);
  expect(ended.match(/ completed /g)).toHaveLength(5);
  expect(ended).toMatch(/^ {5}[└├]─ evidence_agent · check_facts/m);
  expect(ended).toMatch(/liability +v\d+ +0\.6/);
  expect(run.stderr).toMatch(/after [2-9] read\(s\)/);
  expect(run.stderr).toContain('case.closed: 2 subscribers');
  expect(run.stdout).toMatch(/Callback cb-\S+: reach\.completed, verified/);
  expect([run.processes(), run.leftovers()]).toEqual([[], []]);
});
