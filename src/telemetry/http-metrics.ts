import { performance } from 'node:perf_hooks';
import type { Request, RequestHandler } from 'express';
import { Counter, Histogram, type Registry } from 'prom-client';

/** Methods that may become label values; everything else is `other`, so callers cannot add series (M05). */
const METHODS = new Set(['GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'HEAD', 'OPTIONS']);

/** Counts and times requests by route template, never by path. */
export class HttpMetrics {
  readonly middleware: RequestHandler;

  constructor(registry: Registry) {
    const registers = [registry];
    const requests = new Counter({
      name: 'agent_reach_http_requests_total',
      help: 'Requests answered, by route template, method, status and error code',
      labelNames: ['route', 'method', 'status', 'code'],
      registers,
    });
    const duration = new Histogram({
      name: 'agent_reach_http_request_duration_seconds',
      help: 'Time from the request to the end of its answer',
      labelNames: ['route'],
      buckets: [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60],
      registers,
    });
    this.middleware = (request, response, next) => {
      const startedMs = performance.now();
      response.once('close', () => {
        const route = routeTemplate(request);
        const method = METHODS.has(request.method) ? request.method : 'other';
        requests.inc({
          route,
          method,
          status: response.statusCode,
          code: (response.locals.code as string | undefined) ?? '',
        });
        duration.observe({ route }, (performance.now() - startedMs) / 1_000);
      });
      next();
    };
  }
}

function routeTemplate(request: Request): string {
  const route = request.route as { path?: string | RegExp } | undefined;
  if (!route) return 'unmatched';
  const path = typeof route.path === 'string' ? route.path.replaceAll('\\', '') : templateOf(route.path);
  return `${request.baseUrl}${path === '/' ? '' : path}` || '/';
}

/**
 * The template of a route whose path is a regular expression, as that of an action after a colon must be: of
 * `/^\/([^/:]+):cancel$/` it is `/:id:cancel`. What is not of that form is told apart from nothing, but is still one label.
 */
export function templateOf(path: RegExp | undefined): string {
  const template = path?.source
    .replace(/^\^|\$$/g, '')
    .replace(/\(\[\^[^\]]*\]\+\)/g, ':id')
    .replaceAll('\\', '');
  return template !== undefined && /^[a-z0-9/:_.-]+$/.test(template) ? template : '/:other';
}
