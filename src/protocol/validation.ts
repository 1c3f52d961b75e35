/** Validation in one place to import from: documents by schema, envelopes, identities. */
export { findingsError, validate } from './findings';
export { completeEnvelope, parseEnvelope, parseTimeoutHeader, type EnvelopeHeaders } from './envelope-parsing';
export { fingerprint, reachIdOf } from './identity';
