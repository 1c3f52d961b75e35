import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Response } from 'express';
import type { Logger } from 'pino';
import { pinoHttp } from 'pino-http';

/** One line for each request: method, path, status, milliseconds and, where there is one, our error code. No headers, no bodies. */
export function requestLog(logger: Logger) {
  return pinoHttp<IncomingMessage, ServerResponse>({
    logger,
    quietReqLogger: true,
    serializers: {
      req: ({ method, url }: { method: string; url: string }) => ({ method, url: url.split('?', 1)[0]?.slice(0, 200) }),
      res: ({ statusCode }: { statusCode: number }) => ({ status: statusCode }),
      // The library makes up an error for each 5xx; ours was logged with its cause where it was handled.
      err: () => undefined,
    },
    customProps: (_request, response) => ({ code: (response as Response).locals?.code as string | undefined }),
    customLogLevel: (_request, response) => (response.statusCode === 500 ? 'error' : 'info'),
  });
}
