/** What `GET /v1/doctor` answers (R39): each finding with what was measured, why it matters and what to do. */
import { z } from 'zod';

/** From best to worst. `info`: nothing is wrong, but somebody may want to know; also for what could not be checked. */
export const SEVERITIES = ['ok', 'info', 'warning', 'error'] as const;
export type Severity = (typeof SEVERITIES)[number];

/** One thing that was looked at. */
export interface Finding {
  /** Of the check, such as `connections.reuse`. */
  id: string;
  severity: Severity;
  /** Whom it is about: an agent, an ability, a setting. */
  subject?: string;
  measured: string;
  /** Why it matters; absent with `ok`. */
  why?: string;
  /** What to do; absent with `ok`. */
  fix?: string;
  /** A command that does it, or leads on. */
  command?: string;
  /** False: the check could not be made, and `measured` says why. */
  checked?: false;
}

/** The checks that a gateway makes, in the order of the report, with what each looks at. */
export const DOCTOR_CHECKS = {
  'temporal.version': 'the Temporal server is one that has what reaches need',
  'temporal.namespace': 'the namespace is there and keeps finished runs long enough',
  'temporal.search-attributes': 'the search attributes that lists filter by are registered',
  'temporal.workers': 'workers poll the task queue and keep up',
  'temporal.timers': 'timers fire when they should',
  'etcd.version': 'etcd is no version that loses data',
  'etcd.space': 'etcd has room for what the registry writes',
  'registry.view': 'the view of the registry is fed',
  'clock.skew': 'gateway, Temporal and etcd have the same time',
  'connections.reuse': 'connections to agents are used again',
  'connections.success': 'connections to agents succeed',
  'names.near': 'no two names would be mixed up',
  'descriptions.clear': 'abilities have descriptions and examples to be found by',
  'descriptions.overlap': 'descriptions do not say the same of different abilities',
  'health.interval': 'health checks are fast enough for the breakers',
  'agents.ready': 'agents have been ready',
  'leases.ttl': 'leases outlast lost heartbeats',
  'bulkheads.size': "bulkheads are as large as Little's law asks",
  'breakers.state': 'no breaker holds traffic back',
  'canary.groups': 'the groups of the route table are those that requests carry',
  'router.weights': 'weights do not starve anybody',
  'router.health-threshold': 'the health threshold fits the platform',
  'router.meaning': 'routing by meaning compares meanings',
  'dead-letters.expiring': 'no dead letter is about to be lost',
} as const;
export type DoctorCheck = keyof typeof DOCTOR_CHECKS;
export const DOCTOR_CHECK_IDS = Object.keys(DOCTOR_CHECKS) as [DoctorCheck, ...DoctorCheck[]];

const checkId = z.enum(DOCTOR_CHECK_IDS);

/** The query of `GET /v1/doctor`: one check or several; all by default. */
export const doctorQuery = z.strictObject({
  check: z
    .union([checkId, z.array(checkId).max(DOCTOR_CHECK_IDS.length)])
    .optional()
    .meta({ description: 'Checks to make, repeated for several; default: all.', example: 'connections.reuse' }),
});

export const findingSchema = z
  .object({
    id: z.string(),
    severity: z.enum(SEVERITIES),
    subject: z.string().optional(),
    measured: z.string(),
    why: z.string().optional(),
    fix: z.string().optional(),
    command: z.string().optional(),
    checked: z.literal(false).optional(),
  })
  .meta({ id: 'DoctorFinding' });

export const doctorReportSchema = z
  .object({
    checked_at: z.string().meta({ format: 'date-time', description: "By the gateway's clock." }),
    findings: z.array(findingSchema),
    counts: z.object({ ok: z.number(), info: z.number(), warning: z.number(), error: z.number() }),
  })
  .meta({ id: 'DoctorReport' });

/** The answer to `GET /v1/doctor`. */
export interface DoctorReport {
  checked_at: string;
  findings: Finding[];
  counts: Record<Severity, number>;
}

/** How many findings there are of each severity. */
export function countSeverities(findings: readonly Finding[]): Record<Severity, number> {
  const counts = { ok: 0, info: 0, warning: 0, error: 0 };
  for (const { severity } of findings) counts[severity] += 1;
  return counts;
}

/** The one finding of a check that found nothing wrong. */
export function fine(id: string, measured: string): Finding[] {
  return [{ id, severity: 'ok', measured }];
}

/** The finding of a check that could not be made. */
export function notChecked(id: string, why: string): Finding {
  return { id, severity: 'info', measured: `could not be checked: ${why}`, checked: false };
}

/** What was found wrong, or else that all is well. */
export function orFine(findings: readonly Finding[], id: string, measured: string): Finding[] {
  return findings.length > 0 ? [...findings] : fine(id, measured);
}
