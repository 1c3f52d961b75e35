import type { RequestHandler } from 'express';
import { ReachError } from '../protocol/reach-error';
import { header } from './http';

/** Refuses requests whose `Host` cannot be one (RFC 9112 § 3.2). @throws ReachError `invalid_request` */
export const validHost: RequestHandler = (request, _response, next) => {
  const host = header(request, 'host');
  if (host === undefined || (/^[^\s/?#@\\]+$/.test(host) && URL.canParse(`http://${host}`))) return next();
  throw new ReachError('invalid_request', 'The Host header is not a host with an optional port');
};
