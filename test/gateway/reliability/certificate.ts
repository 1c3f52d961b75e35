import { generateKeyPairSync, sign } from 'node:crypto';

/** Lengths below 128 in one byte, above in as many as they need (X.690 §8.1.3). */
function der(tag: number, ...contents: Buffer[]): Buffer {
  const body = Buffer.concat(contents);
  const size = body.length.toString(16);
  const long = Buffer.from(size.padStart(size.length + (size.length % 2), '0'), 'hex');
  const length =
    body.length < 128 ? Buffer.from([body.length]) : Buffer.concat([Buffer.from([0x80 | long.length]), long]);
  return Buffer.concat([Buffer.from([tag]), length, body]);
}

const [SEQUENCE, SET, OID, UTF8, INTEGER, BITS, TIME] = [0x30, 0x31, 0x06, 0x0c, 0x02, 0x03, 0x18];
const pem = (label: string, body: Buffer) =>
  `-----BEGIN ${label}-----\n${body.toString('base64')}\n-----END ${label}-----\n`;

/** A key and a certificate (X.509 v1, RFC 5280) that it signed for itself, as a TLS server takes them. */
export function selfSigned(commonName: string): { key: string; cert: string } {
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const algorithm = der(SEQUENCE, der(OID, Buffer.from('2a8648ce3d040302', 'hex')));
  const attribute = der(SEQUENCE, der(OID, Buffer.from('550403', 'hex')), der(UTF8, Buffer.from(commonName)));
  const name = der(SEQUENCE, der(SET, attribute));
  const validity = der(SEQUENCE, ...['20200101000000Z', '21200101000000Z'].map((at) => der(TIME, Buffer.from(at))));
  const spki = publicKey.export({ type: 'spki', format: 'der' });
  const tbs = der(SEQUENCE, der(INTEGER, Buffer.from([1])), algorithm, name, validity, name, spki);
  const signature = der(BITS, Buffer.from([0]), sign('sha256', tbs, privateKey));
  return {
    key: privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(),
    cert: pem('CERTIFICATE', der(SEQUENCE, tbs, algorithm, signature)),
  };
}
