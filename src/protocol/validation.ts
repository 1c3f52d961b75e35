/** Validation in one place to import from: documents by schema, envelopes, identities. */
export { fieldErrors, findingsError, validate, type ValidateOptions } from './findings';
export { completeEnvelope, parseEnvelope, parseTimeoutHeader, type EnvelopeHeaders } from './envelope-parsing';
export { fingerprint, reachIdOf } from './identity';
