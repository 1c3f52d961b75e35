/** The circuit breaker (R28) without clocks, I/O or processes: states, windows, verdicts. */
export { admissionOf, type Admission } from './admission';
export { breakerOutcome } from './outcome';
export { NEVER_TRIPPED, type BreakerRecord, type BreakerRules, type Evidence } from './record';
export { assertBreakerSettings, breakerSettings, type BreakerSection, type BreakerSettings } from './settings';
export { afterEvidence, afterOutcome, afterTime, claimProbe } from './transitions';
export { isErrorRateHigh, judgeLastCalls, judgeLatency, sumWindows, sustainedErrors, type SeenDigest } from './verdict';
export { OutcomeWindow, type WindowDigest } from './window';
