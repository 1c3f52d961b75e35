/** The doctor asks a gateway check by check, so that one that hangs holds up none of the others. */
import {
  countSeverities,
  DOCTOR_CHECK_IDS,
  DOCTOR_CHECKS,
  fine,
  notChecked,
  type DoctorCheck,
  type DoctorReport,
  type Finding,
} from '../../protocol/doctor';
import { ReachError } from '../../protocol/reach-error';
import type { Session } from '../session';
import { Spinner } from '../spinner';

/** Checks under way at once; some of them load the engines a little. */
const AT_ONCE = 4;
/** Clocks of people's machines may be this far off before dates on the screen mislead, ms. */
const SKEW_MS = 2_000;

/**
 * All checks of the gateway, and the clock of this machine against its clock.
 * @throws ReachError `engine_unavailable` when the gateway cannot be reached at all
 */
export async function askGateway({ client, io, json }: Session): Promise<DoctorReport> {
  const spinner = new Spinner(io, { text: 'asking the gateway', quiet: json });
  try {
    const clock = await compareClocks(client.doctor);
    const findings = await askAll(client.doctor, io.signal, (text) => spinner.say(text));
    const all = [...clock, ...findings];
    return { checked_at: new Date().toISOString(), findings: all, counts: countSeverities(all) };
  } finally {
    spinner.stop();
  }
}

type Doctor = Session['client']['doctor'];

/** The findings in the order of the checks, a few asked at once. */
async function askAll(doctor: Doctor, signal: AbortSignal, say: (text: string) => void): Promise<Finding[]> {
  const found = new Map<DoctorCheck, Finding[]>();
  const waiting = [...DOCTOR_CHECK_IDS];
  const work = async () => {
    for (let id = waiting.shift(); id !== undefined; id = waiting.shift()) {
      say(`${found.size} of ${DOCTOR_CHECK_IDS.length} checks: whether ${DOCTOR_CHECKS[id]}`);
      found.set(id, await ask(doctor, id, signal));
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, work));
  return DOCTOR_CHECK_IDS.flatMap((id) => found.get(id) ?? []);
}

/** A gateway of another release may not know a check; one that fails says why. */
async function ask(doctor: Doctor, id: DoctorCheck, signal: AbortSignal): Promise<Finding[]> {
  try {
    return (await doctor.report([id], { signal })).findings;
  } catch (caught) {
    if (signal.aborted) throw caught;
    const { code, message } = ReachError.from(caught);
    return [notChecked(id, code === 'invalid_request' ? 'this gateway does not know it' : message)];
  }
}

/** The first exchange tells whether anybody is there, and how far the gateway's clock is from ours. */
async function compareClocks(doctor: Doctor): Promise<Finding[]> {
  const id = 'clock.here';
  const startedMs = performance.now();
  const wallMs = new Date().getTime();
  const { checked_at } = await doctor.report(['router.weights']);
  const halfTripMs = (performance.now() - startedMs) / 2;
  const aheadMs = Math.round(Date.parse(checked_at) - wallMs - halfTripMs);
  const measured = `the gateway's clock is ${Math.abs(aheadMs)} ms ${aheadMs < 0 ? 'behind' : 'ahead of'} this machine's (± ${Math.ceil(halfTripMs)} ms)`;
  if (!(Math.abs(aheadMs) > SKEW_MS + halfTripMs)) return fine(id, measured);
  return [
    {
      id,
      severity: 'warning',
      subject: 'this machine',
      measured,
      why: '"ago" in tables, --since, and the order of what happened here and there mislead',
      fix: 'let both synchronise by NTP (timedatectl set-ntp true)',
    },
  ];
}
