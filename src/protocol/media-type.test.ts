import { parseContentType } from './media-type';

const read = (header: string | undefined, accepted?: ('json' | 'yaml')[]) => {
  try {
    return parseContentType(header, accepted).format;
  } catch (error) {
    return (error as { code: string }).code;
  }
};

describe('parseContentType (B07)', () => {
  it.each([
    'application/json',
    'Application/JSON',
    'application/json; utf-8',
    'application/json;charset=utf-8',
    'application/json; charset=UTF-8',
    'application/json; charset="utf-8"',
    'application/json; charset=utf8',
    'application/json;',
    'application/json; profile="a;charset=utf-7"',
    'application/cloudevents+json; charset=utf-8',
    'application/vnd.acme.v2+json',
  ])('%s is JSON', (header) => expect(read(header)).toBe('json'));

  it.each([
    'application/json; charset=utf-7',
    'application/json; charset=iso-8859-1',
    'application/json; charset=utf-16',
    'application/json; iso-8859-1',
    'application/json; charset=utf-8; charset=utf-7',
    'application/json; charset=',
    'text/plain',
    'text/plain; charset=utf-8',
    'application/x-www-form-urlencoded',
    'multipart/form-data; boundary=x',
    'json',
    'application/+json/x',
    'image/svg+json',
    'application/yaml',
    'constructor',
    '',
    undefined,
  ])('%s → 415', (header) => expect(read(header)).toBe('unsupported_media_type'));

  it.each([
    'application/yaml',
    'application/x-yaml',
    'text/yaml',
    'text/x-yaml; charset=utf-8',
    'application/openapi+yaml',
  ])('%s is YAML where YAML is taken', (header) => {
    expect(read(header, ['json', 'yaml'])).toBe('yaml');
    expect(read('application/json', ['json', 'yaml'])).toBe('json');
  });

  it('says what to send', () => {
    expect(() => parseContentType(undefined)).toThrow('send Content-Type: application/json');
    expect(() => parseContentType('text/plain', ['json', 'yaml'])).toThrow('send application/json or application/yaml');
    expect(() => parseContentType('application/json; charset=utf-7')).toThrow('encode the body as UTF-8');
  });
});
