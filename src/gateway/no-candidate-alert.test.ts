import { ReachError } from '../protocol/reach-error';
import type { Diagnosis } from '../protocol/shapes';
import type { AlertInput } from './alerts';
import { alertingOnRefusals } from './no-candidate-alert';

const nearest = {
  agent_name: 'refund_agent',
  agent_version: '1.0.0',
  status: 'draining',
  since: null,
  detail: 'draining',
};
const raised = (...diagnoses: (Diagnosis | undefined)[]) => {
  const alerts: AlertInput[] = [];
  const logged: ReachError[] = [];
  const sink = { raise: (alert: AlertInput) => Promise.resolve(alerts.push(alert) > 0) };
  const log = alertingOnRefusals({ refused: (error: ReachError) => void logged.push(error) }, sink);
  for (const diagnosis of diagnoses) log.refused(new ReachError('no_ready_instance', 'x', { diagnosis }));
  return { alerts, logged };
};

it('raises one alert for what nobody could take, keyed by reason and nearest agent', () => {
  const { alerts, logged } = raised({
    reason: 'not_ready',
    message: 'no agent is ready for refund',
    advice: 'start one',
    causes: [{ cause: 'draining', count: 1, message: '1 is draining' }],
    agents: [nearest],
  });
  expect(logged).toHaveLength(1);
  expect(alerts).toEqual([
    {
      kind: 'no_candidate',
      key: 'not_ready/refund_agent',
      severity: 'warning',
      message: 'no agent could be chosen: no agent is ready for refund. What to do: start one',
      details: {
        code: 'no_ready_instance',
        reason: 'not_ready',
        causes: [{ cause: 'draining', count: 1 }],
        agents: [{ agent_name: 'refund_agent', agent_version: '1.0.0', status: 'draining' }],
      },
      windowMs: 900_000,
    },
  ]);
});

it('names that callers invent share one alert, and what is no diagnosis raises none', () => {
  const unknown = (name: string) => ({
    reason: 'name_mismatch' as const,
    message: `nobody offers ${name}`,
    closest: [],
  });
  const { alerts } = raised(unknown('a'), unknown('b'), undefined);
  expect(alerts.map(({ key, severity }) => [key, severity])).toEqual([
    ['name_mismatch', 'info'],
    ['name_mismatch', 'info'],
  ]);
});
