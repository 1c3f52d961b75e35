import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import express, { Router } from 'express';
import { Registry } from 'prom-client';
import { HttpMetrics, templateOf } from './http-metrics';

it.each([
  [/^\/([^/:]+):cancel$/, '/:id:cancel'],
  [/^\/([^/]+):complete$/, '/:id:complete'],
  [/^\/dead-letters:redrive$/, '/dead-letters:redrive'],
  [/^\/(a|b)+$/, '/:other'],
])('%s is labelled %s', (path, template) => expect(templateOf(path)).toBe(template));

it('each action has a label of its own', async () => {
  const registry = new Registry();
  const app = express();
  app.use(new HttpMetrics(registry).middleware);
  const router = Router();
  for (const action of [/^\/([^/:]+):redrive$/, /^\/([^/:]+):discard$/])
    router.post(action, (_request, response) => void response.json({}));
  router.get('/:id', (_request, response) => void response.json({}));
  app.use('/v1/dead-letters', router);
  const server = createServer(app);
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1/dead-letters/r-1`;
  for (const action of [':redrive', ':discard']) await (await fetch(url + action, { method: 'POST' })).text();
  await (await fetch(url)).text();
  await new Promise<void>((done) => server.close(() => done()));
  const { values } = await registry.getSingleMetric('agent_reach_http_requests_total')!.get();
  expect(values.map(({ labels }) => labels.route).sort()).toEqual([
    '/v1/dead-letters/:id',
    '/v1/dead-letters/:id:discard',
    '/v1/dead-letters/:id:redrive',
  ]);
});
