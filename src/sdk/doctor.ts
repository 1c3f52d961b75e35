/** The doctor of one gateway (R39). */
import type { DoctorCheck, DoctorReport } from '../protocol/doctor';
import type { RequestOptions } from './client-types';
import { GatewayApi } from './gateway-api';
import type { Transport } from './transport';

export type { DoctorCheck, DoctorReport, Finding, Severity } from '../protocol/doctor';

/** A check takes up to 8 s; some more for the way, ms. */
const REQUEST_TIMEOUT_MS = 12_000;

/** Asks a gateway to look at what goes wrong quietly. */
export class DoctorClient {
  readonly #api: GatewayApi;

  constructor(transport: Transport) {
    this.#api = new GatewayApi(transport, REQUEST_TIMEOUT_MS);
  }

  /** The findings of these checks, or of all. Throws `invalid_request` for a check that the gateway does not know. */
  async report(checks: readonly DoctorCheck[] = [], options: RequestOptions = {}): Promise<DoctorReport> {
    const search = new URLSearchParams(checks.map((check): [string, string] => ['check', check])).toString();
    return this.#api.get(`/v1/doctor${search && `?${search}`}`, options);
  }
}
