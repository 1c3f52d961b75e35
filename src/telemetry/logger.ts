import { pino, type Logger } from 'pino';

/** Members that may carry a secret; their values are replaced in every log line. */
const REDACTED = [
  'authorization',
  'token',
  'api_key',
  'apiKey',
  'reachToken',
  '*.authorization',
  '*.token',
  '*.api_key',
  'headers.authorization',
  'headers["x-api-key"]',
  'headers["x-reach-token"]',
];

/** JSON lines on stderr; stdout stays free for what a command prints. */
export function createLogger(name: string, level: string): Logger {
  return pino({ name, level, redact: { paths: REDACTED, censor: '[redacted]' } }, pino.destination(2));
}
