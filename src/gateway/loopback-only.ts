import type { RequestHandler } from 'express';
import { ReachError } from '../protocol/reach-error';
import { header } from './http';

const LOOPBACK = /^(localhost|127(\.\d{1,3}){3}|\[::1\])(:\d+)?$/i;

/**
 * Guards a gateway without an API key, which trusts whoever is on this machine. A web page is not: one whose host name
 * was pointed to 127.0.0.1 shows in `Host`, a form or script of another site in `Origin`.
 *
 * @throws ReachError `forbidden`
 */
export const loopbackOnly: RequestHandler = (request, _response, next) => {
  const host = header(request, 'host') ?? '';
  const origin = header(request, 'origin');
  const originHost = origin === undefined ? 'localhost' : URL.canParse(origin) ? new URL(origin).host : '';
  if (LOOPBACK.test(host) && LOOPBACK.test(originHost)) return next();
  throw new ReachError(
    'forbidden',
    'Without an API key only this machine may call: use http://127.0.0.1 or http://localhost, or set security.api_key_env',
  );
};
