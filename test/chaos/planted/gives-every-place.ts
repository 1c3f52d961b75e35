/** Planted in workers: a bulkhead has room for everybody. */
import { Bulkheads } from '../../../src/policy/bulkhead';

Object.assign(Bulkheads.prototype, { shareOf: () => Number.MAX_SAFE_INTEGER });
