import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Command } from 'commander';
import express from 'express';
import { createColors } from 'picocolors';
import { addBreakers } from '../../src/cli/commands/breakers';
import type { CliIo } from '../../src/cli/io';
import { withSession } from '../../src/cli/session';
import { AgentCatalogue } from '../../src/gateway/agent-catalogue';
import { authenticate } from '../../src/gateway/authentication';
import { BreakerService } from '../../src/gateway/breaker-service';
import { errorHandler } from '../../src/gateway/problems';
import { breakerRoutes } from '../../src/gateway/routes/breakers';
import { breakerItemSchema, type BreakerItem } from '../../src/protocol/breaker-override';
import { Registry, RegistryView } from '../../src/registry';
import { createLogger } from '../../src/telemetry/logger';
import { FIRST, KEY, failTogether, startHub, type TestHub } from '../registry/breakers-support';
import { descriptorOf, eventually, openPlace, refusal, type Place } from '../registry/support';
import { Api } from '../support/api';
import { expectProblem } from '../support/problem';

let place: Place;
let one: TestHub;
let two: TestHub;
let api: Api;

/** The routes with the real rooms behind them; the second hub is another gateway's. */
beforeEach(async () => {
  place = openPlace();
  const registry = new Registry(place.options);
  place.onClose(() => registry.close());
  for (const version of ['1.0.0', '2.0.0'])
    await registry.registerDescriptor(descriptorOf({ name: 'reader', version, capabilities: ['ocr', 'translate'] }));
  await registry.registerDescriptor(descriptorOf({ name: 'other', capabilities: ['退款.查询'] }));
  [one, two] = [await startHub(place), await startHub(place)];
  const view = new RegistryView({ ...place.options, refreshIntervalMs: 60_000 });
  place.onClose(() => view.stop());
  await view.start();
  api = new Api(await listen(new BreakerService(one.hub, new AgentCatalogue(view, one.hub, { queueDepth: () => 0 }))));
  place.onClose(() => api.close());
});
afterEach(() => place.close());

async function listen(breakerService: BreakerService): Promise<string> {
  const app = express();
  app.use('/v1', authenticate(null), express.raw({ type: () => true }), breakerRoutes({ breakerService }));
  app.use(errorHandler(createLogger('gateway', 'silent')));
  const server = createServer(app);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  place.onClose(() => new Promise<void>((resolve) => (server.close(() => resolve()), server.closeAllConnections())));
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

const OCR = '/v1/agents/reader/abilities/ocr/breaker';
const maintenance = { state: 'open', reason: 'maintenance' };

describe('GET /v1/breakers', () => {
  it('lists those that are not closed, and all when asked', async () => {
    expect((await api.get('/v1/breakers')).body).toEqual({ items: [] });
    await failTogether(one, 6);
    const { body } = await api.get('/v1/breakers');
    expect(body.items).toEqual([
      {
        agent_name: 'reader',
        agent_version: '1.0.0',
        ability: 'ocr',
        state: 'bypass',
        since: expect.stringMatching(/^\d{4}-/),
        error_rate: 1,
        requests: 6,
        share: 0.05,
        reason: '6 of the last 6 calls failed',
      },
    ]);
    const all = (await api.get('/v1/breakers?all=true')).body.items as BreakerItem[];
    expect(all.map(({ agent_name, agent_version, ability }) => `${agent_name} ${agent_version} ${ability}`)).toEqual([
      'other 1.0.0 退款.查询',
      'reader 1.0.0 ocr',
      'reader 1.0.0 translate',
      'reader 2.0.0 ocr',
      'reader 2.0.0 translate',
    ]);
    for (const item of all) expect(breakerItemSchema.strict().safeParse(item).error).toBeUndefined();
    expectProblem(await api.get('/v1/breakers?all=yes'), 'invalid_request');
    expectProblem(await api.get('/v1/breakers?everything=true'), 'invalid_request');
  });
});

describe('an override', () => {
  it('holds every version everywhere, and one version alone when named, until taken back', async () => {
    const held = await api.put(OCR, { ...maintenance, expires_in_sec: 600 });
    expect(held.status).toBe(200);
    expect(held.body.items).toHaveLength(2);
    const [item] = held.body.items as BreakerItem[];
    expect(item).toMatchObject({ state: 'open', share: 0, override: { ...maintenance, by: 'local' } });
    const { set_at, expires_at } = item!.override!;
    expect(Date.parse(expires_at!) - Date.parse(set_at)).toBe(600_000);
    await eventually(() => two.state() === 'open');
    expect((await refusal(two.hub.enter(KEY, FIRST))).code).toBe('circuit_open');
    const closed = await api.put(OCR, { state: 'closed', reason: 'mended', version: 'v2.0.0' });
    expect(closed.body.items).toEqual([expect.objectContaining({ agent_version: '2.0.0', state: 'closed', share: 1 })]);
    expect((await api.get('/v1/breakers')).body.items).toHaveLength(2);
    const released = await api.delete(`${OCR}?version=1.0.0`);
    expect(released.body.items).toEqual([expect.objectContaining({ agent_version: '1.0.0', state: 'closed' })]);
    expect(released.body.items[0].override).toBeUndefined();
    expect((await api.delete(OCR)).body.items).toHaveLength(2);
    await eventually(() => two.hub.list().length === 0);
    expect((await api.delete(OCR)).status).toBe(200);
  });

  it('takes abilities of any name', async () => {
    const path = `/v1/agents/other/abilities/${encodeURIComponent('退款.查询')}/breaker`;
    expect((await api.put(path, maintenance)).body.items).toEqual([expect.objectContaining({ ability: '退款.查询' })]);
  });

  it.each([
    [{}, '/state'],
    [{ state: 'half_open', reason: 'x' }, '/state'],
    [{ state: 'open' }, '/reason'],
    [{ state: 'open', reason: ' ' }, '/reason'],
    [{ state: 'open', reason: 'x'.repeat(501) }, '/reason'],
    [{ ...maintenance, expires_in_sec: 0 }, '/expires_in_sec'],
    [{ ...maintenance, expires_in_sec: 604_801 }, '/expires_in_sec'],
    [{ ...maintenance, expires_in_sec: 1.5 }, '/expires_in_sec'],
    [{ ...maintenance, version: 'latest' }, '/version'],
    [{ ...maintenance, until: 'noon' }, '/until'],
  ])('refuses %j', async (body, pointer) => {
    const problem = expectProblem(await api.put(OCR, body), 'invalid_request');
    expect(problem.errors?.map((error) => error.pointer)).toContain(pointer);
    expect(one.hub.list()).toEqual([]);
  });

  it('says what there is when agent, ability or version are unknown', async () => {
    const put = (agent: string, ability: string, more = {}) =>
      api.put(`/v1/agents/${agent}/abilities/${ability}/breaker`, { ...maintenance, ...more });
    expectProblem(await put('raeder', 'ocr'), 'agent_not_found');
    expectProblem(await put('reader', 'constructor'), 'ability_not_found');
    const notIts = expectProblem(await put('reader', encodeURIComponent('退款.查询')), 'ability_not_found');
    expect(notIts.detail).toContain('it offers ocr, translate');
    const noVersion = expectProblem(await put('reader', 'ocr', { version: '3.0.0' }), 'version_not_found');
    expect(noVersion.diagnosis?.available_versions?.toSorted()).toEqual(['1.0.0', '2.0.0']);
    expectProblem(await api.delete('/v1/agents/nobody/abilities/ocr/breaker'), 'agent_not_found');
    expectProblem(await api.delete(`${OCR}?version=3.0.0`), 'version_not_found');
  });

  it('says so while etcd is away', async () => {
    const down = jest.spyOn(place.etcd.kv, 'txn').mockRejectedValue(new Error('14 UNAVAILABLE'));
    expectProblem(await api.put(OCR, maintenance), 'engine_unavailable');
    down.mockRestore();
    expect(one.state()).toBe('closed');
  });
});

describe('agent-reach breakers', () => {
  async function cli(args: string[], io: Partial<CliIo> = {}): Promise<string> {
    let out = '';
    const streams: CliIo = {
      out: (text) => void (out += text),
      err: () => undefined,
      readStdin: () => Promise.resolve(''),
      env: { AGENT_REACH_URL: api.url },
      columns: undefined,
      errColumns: undefined,
      color: createColors(false),
      errColor: createColors(false),
      signal: new AbortController().signal,
      readerGone: new AbortController().signal,
      ...io,
    };
    const program = new Command('agent-reach').option('--json').exitOverride();
    addBreakers(program, {
      io: streams,
      run: async (command, work) => void (await withSession(command, streams, work)),
    });
    await program.parseAsync(args, { from: 'user' });
    return out;
  }

  it('lists, holds and gives back', async () => {
    expect(await cli(['breakers'])).toBe('All circuit breakers are closed.\n');
    const held = await cli([
      'breakers',
      'open',
      'reader',
      'ocr',
      '--reason',
      'bank',
      '--for',
      '10m',
      '--agent-version',
      '1.0.0',
    ]);
    expect(held).toMatch(/^ocr at reader#1\.0\.0 is held open until \d{4}-.*Z\n$/);
    const table = await cli(['breakers']);
    expect(table).toMatch(/AGENT +ABILITY +BREAKER +PASSES +FAILED +FOR +WHY/);
    expect(table).toMatch(/reader#1\.0\.0 +ocr +open \(held\) +0 % +- +\d+ s +bank \(local, until /);
    expect((await cli(['breakers', '--all'])).trim().split('\n')).toHaveLength(6);
    expect(await cli(['breakers', 'close', 'reader', 'ocr', '--reason', 'ok'])).toContain(
      'held closed until it is taken back',
    );
    const { items } = JSON.parse(await cli(['breakers', 'auto', 'reader', 'ocr', '--json'])) as {
      items: BreakerItem[];
    };
    expect(items.map(({ state, override }) => [state, override])).toEqual([
      ['closed', undefined],
      ['closed', undefined],
    ]);
  });

  it.each([
    ['no reason', ['open', 'reader', 'ocr']],
    ['no time', ['open', 'reader', 'ocr', '--reason', 'x', '--for', '0s']],
    ['more than a week', ['open', 'reader', 'ocr', '--reason', 'x', '--for', '8d']],
  ])('refuses %s', async (_name, args) => {
    const write = jest.spyOn(process.stderr, 'write').mockReturnValue(true);
    await expect(cli(['breakers', ...args])).rejects.toThrow();
    write.mockRestore();
    expect(one.hub.list()).toEqual([]);
  });

  it('watches: lines for what changed into a pipe, one picture on a terminal', async () => {
    const control = new AbortController();
    const said = { pipe: '', terminal: '' };
    const piped = cli(['breakers', '--watch'], { signal: control.signal, out: (text) => void (said.pipe += text) });
    const drawn = cli(['breakers', '--watch'], {
      signal: control.signal,
      columns: 100,
      out: (text) => void (said.terminal += text),
    });
    await eventually(() => said.pipe !== '' && said.terminal !== '');
    expect(said.pipe).toBe('All circuit breakers are closed.\n');
    await failTogether(one, 6);
    await eventually(() => said.pipe.includes('bypass') && said.terminal.includes('bypass'));
    expect(said.pipe).toContain('Z reader#1.0.0 ocr bypass passes 5.0 % – 6 of the last 6 calls failed\n');
    expect(said.terminal).toMatch(/^\r\u001b\[0JAll [^\u001b]*\n\u001b\[1A\r\u001b\[0J/);
    await one.call('ok', 10);
    await eventually(() => said.pipe.includes('reader#1.0.0 ocr closed\n'));
    control.abort();
    await Promise.all([piped, drawn]);
    expect(said.pipe.trim().split('\n')).toHaveLength(3);
  });
});
