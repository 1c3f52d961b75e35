/** `GET /v1/doctor` (R39): looks at everything that goes wrong quietly, each check bounded and on its own. */
import {
  countSeverities,
  DOCTOR_CHECK_IDS,
  doctorQuery,
  notChecked,
  type DoctorCheck,
  type DoctorReport,
  type Finding,
} from '../../protocol/doctor';
import { ReachError } from '../../protocol/reach-error';
import { validate } from '../../protocol/validation';
import { catalogueChecks } from './catalogue-checks';
import { engineChecks } from './engine-checks';
import type { Check, DoctorOptions } from './options';

export { countingGroups, GroupCensus } from './group-census';
export type { DoctorOptions } from './options';

/** Most time for one check, ms. */
const CHECK_TIMEOUT_MS = 8_000;

/** Makes the checks of one gateway. */
export class Doctor {
  private readonly checks: Record<DoctorCheck, Check>;
  /** Checks that are being made: whoever asks meanwhile gets the same findings, so that many who ask cost no more than one. */
  private readonly underWay = new Map<DoctorCheck, Promise<Finding[]>>();

  constructor(private readonly options: DoctorOptions) {
    this.checks = { ...engineChecks(options), ...catalogueChecks(options) };
  }

  /**
   * The report on the checks that are asked for, all by default.
   * @throws ReachError `invalid_request` for a check that there is none of
   */
  async report(query: unknown): Promise<DoctorReport> {
    const { check } = validate(doctorQuery, query, { what: 'the query' });
    const wanted = check === undefined ? DOCTOR_CHECK_IDS : [check].flat();
    const findings = (await Promise.all([...new Set(wanted)].map((id) => this.shared(id)))).flat();
    return { checked_at: this.options.now().toISOString(), findings, counts: countSeverities(findings) };
  }

  private shared(id: DoctorCheck): Promise<Finding[]> {
    const known = this.underWay.get(id);
    if (known) return known;
    const made = this.make(id).finally(() => this.underWay.delete(id));
    this.underWay.set(id, made);
    return made;
  }

  private async make(id: DoctorCheck): Promise<Finding[]> {
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<Finding[]>((resolve) => {
      const told = [notChecked(id, `it took longer than ${CHECK_TIMEOUT_MS / 1_000} s`)];
      timer = setTimeout(() => resolve(told), CHECK_TIMEOUT_MS);
    });
    try {
      return await Promise.race([Promise.resolve().then(() => this.checks[id]()), late]);
    } catch (caught) {
      return [failed(id, caught, this.options)];
    } finally {
      clearTimeout(timer);
    }
  }
}

/** An engine that does not answer is an error of its own; any other failure is only a check that was not made. */
function failed(id: DoctorCheck, caught: unknown, { logger }: DoctorOptions): Finding {
  const error = ReachError.from(caught);
  logger.debug({ check: id, err: error.cause ?? error }, 'a check of the doctor failed');
  const isEngine = error.code === 'engine_unavailable' && /^(temporal|etcd)\.(version|namespace)$/.test(id);
  if (!isEngine) return notChecked(id, error.code === 'internal' ? 'it failed; the log has why' : error.message);
  const [subject, where, command] = id.startsWith('etcd')
    ? ['etcd', 'the hosts of registry.etcd', 'etcdctl endpoint status --cluster']
    : ['Temporal', 'temporal.address', 'temporal operator cluster health'];
  return {
    id,
    severity: 'error',
    subject,
    measured: 'does not answer',
    why: 'without it nothing is accepted',
    fix: `see that ${subject} answers at ${where}; GET /readyz tells when it is back`,
    command,
  };
}
