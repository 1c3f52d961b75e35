/** The decision log (R23): what routing decided, kept in the store of large payloads, read by every process. */
export { DecisionLog, type DecisionLogSettings, type DecisionPage } from './decision-log';
export { processName } from './writer';
