/** `/v1/doctor`: what goes wrong quietly. */
import { doctorQuery, doctorReportSchema, type DoctorReport } from '../doctor';
import { json, type Operation } from './operation';

const report: DoctorReport = {
  checked_at: '2026-05-04T08:30:00.000Z',
  findings: [
    { id: 'temporal.version', severity: 'ok', measured: 'Temporal server 1.32.0' },
    {
      id: 'health.interval',
      severity: 'warning',
      subject: 'refund_agent#1.2.0',
      measured: 'health_check.interval_sec is 60, the breaker window 120 s',
      why: 'the breaker acts on health that is older than what it judges by',
      fix: 'set health_check.interval_sec to 30 or less, or breaker.window_sec to 240 or more',
      command: 'agent-reach agents refund_agent',
    },
  ],
  counts: { ok: 1, info: 0, warning: 1, error: 0 },
};

/** The operation of the doctor (R39). */
export const DOCTOR_OPERATIONS: Operation[] = [
  {
    method: 'get',
    path: '/v1/doctor',
    id: 'doctor',
    tag: 'agents',
    summary: 'What goes wrong quietly: connections, health, names, weights, engines',
    description:
      'Every check is bounded and on its own; one that cannot be made says why. `temporal.timers` and `clock.skew` start a run that nobody works on, and remove it.',
    query: doctorQuery,
    answers: { 200: { description: 'The findings', body: json(doctorReportSchema, { slow_health_check: report }) } },
    problems: ['invalid_request'],
  },
];
