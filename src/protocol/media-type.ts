/** `Content-Type` of request bodies: what the body is, or a 415 that says what to send. */
import { ReachError } from './reach-error';

/** What a body can be read as. */
export type BodyFormat = 'json' | 'yaml';

/** A content type that is understood. */
export interface MediaType {
  format: BodyFormat;
  /** Type and subtype in lower case, e.g. `application/cloudevents+json`. */
  mediaType: string;
}

const NAMED: ReadonlyMap<string, BodyFormat> = new Map([
  ['application/json', 'json'],
  ['text/json', 'json'],
  ['application/yaml', 'yaml'],
  ['application/x-yaml', 'yaml'],
  ['text/yaml', 'yaml'],
  ['text/x-yaml', 'yaml'],
]);

const TOKEN = /^[!#$%&'*+.^_`|~0-9a-z-]+$/;
const UTF8 = /^utf-?8$/;

/**
 * Reads a `Content-Type` (RFC 9110 § 8.3). `application/*+json` and `+yaml` count as their base (RFC 6839,
 * RFC 9512), so CloudEvents work. UTF-8 is the only charset; the sloppy `application/json; utf-8` is
 * understood as what it means, other parameters are ignored.
 *
 * @param accepted formats of the route; default JSON only.
 * @throws ReachError `unsupported_media_type` (415)
 */
export function parseContentType(header: string | undefined, accepted: readonly BodyFormat[] = ['json']): MediaType {
  const wanted = accepted.map((format) => `application/${format}`).join(' or ');
  if (header === undefined || header.trim() === '') {
    throw unsupported('The request has no Content-Type', `send Content-Type: ${wanted}`);
  }
  const [type = '', ...parameters] = splitParameters(header);
  const mediaType = type.trim().toLowerCase();
  const format = formatOf(mediaType);
  if (format === null || !accepted.includes(format)) {
    throw unsupported(
      `Content-Type ${JSON.stringify(mediaType.slice(0, 100))} is not supported here`,
      `send ${wanted}`,
    );
  }
  for (const parameter of parameters) checkCharset(parameter);
  return { format, mediaType };
}

function formatOf(mediaType: string): BodyFormat | null {
  const named = NAMED.get(mediaType);
  if (named !== undefined) return named;
  const [type, subtype = '', ...rest] = mediaType.split('/');
  if (type !== 'application' || rest.length > 0 || !TOKEN.test(subtype)) return null;
  if (subtype.endsWith('+json')) return 'json';
  return subtype.endsWith('+yaml') ? 'yaml' : null;
}

/** Splits at `;`, but not inside quoted values. */
function splitParameters(header: string): string[] {
  return header.match(/(?:[^;"]|"(?:[^"\\]|\\.)*"|")+/g) ?? [];
}

function checkCharset(parameter: string): void {
  const text = parameter.trim().toLowerCase();
  const equals = text.indexOf('=');
  const name = equals === -1 ? 'charset' : text.slice(0, equals).trim(); // `; utf-8` means charset=utf-8
  if (text === '' || name !== 'charset') return;
  const charset = text
    .slice(equals + 1)
    .trim()
    .replace(/^"(.*)"$/, '$1');
  if (!UTF8.test(charset)) {
    throw unsupported(`Charset ${JSON.stringify(charset.slice(0, 40))} is not supported`, 'encode the body as UTF-8');
  }
}

function unsupported(what: string, fix: string): ReachError {
  return new ReachError('unsupported_media_type', `${what}; ${fix}`, {
    errors: [{ pointer: '', message: what, fix }],
  });
}
