/** The doctor of one gateway (R39). */
import type { DoctorCheck, DoctorReport } from '../protocol/doctor';
import type { RequestOptions } from './client-types';
import type { Transport } from './transport';

export type { DoctorCheck, DoctorReport, Finding, Severity } from '../protocol/doctor';

/** A check takes up to 8 s; some more for the way, ms. */
const REQUEST_TIMEOUT_MS = 12_000;

/** Asks a gateway to look at what goes wrong quietly. */
export class DoctorClient {
  constructor(private readonly transport: Transport) {}

  /** The findings of these checks, or of all. Throws `invalid_request` for a check that the gateway does not know. */
  async report(checks: readonly DoctorCheck[] = [], options: RequestOptions = {}): Promise<DoctorReport> {
    const search = new URLSearchParams(checks.map((check): [string, string] => ['check', check])).toString();
    const { body } = await this.transport.request<DoctorReport>({
      method: 'GET',
      path: `/v1/doctor${search && `?${search}`}`,
      retry: 'always',
      timeoutMs: REQUEST_TIMEOUT_MS,
      ...options,
    });
    return body;
  }
}
