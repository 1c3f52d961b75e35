/** Validation in one place to import from: documents by schema, envelopes, identities. */
export { fieldErrors, findingsError, validate, type ValidateOptions } from './findings';
export {
  completeEnvelope,
  parseEnvelope,
  parseTimeoutHeader,
  type CompletionContext,
  type EnvelopeHeaders,
} from './envelope-parsing';
export { canonicalJson, fingerprint, reachId, reachIdOf, reachIdOfMessage, targetOf } from './identity';
