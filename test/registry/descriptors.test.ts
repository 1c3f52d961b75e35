import { Registry, RegistryView } from '../../src/registry';
import { descriptorOf, eventually, openPlace, refusal, type Place } from './support';

let place: Place;
let registry: Registry;

beforeEach(() => {
  place = openPlace();
  registry = new Registry(place.options);
  place.onClose(() => registry.close());
});
afterEach(() => place.close());

describe('registering a descriptor', () => {
  it('creates, leaves the same content alone, refuses other content, and replaces when asked', async () => {
    const first = await registry.registerDescriptor(descriptorOf());
    expect(first).toMatchObject({ outcome: 'created', warnings: [] });
    const again = await registry.registerDescriptor(descriptorOf());
    expect(again).toEqual({ ...first, outcome: 'unchanged' });
    const changed = descriptorOf({ description: 'now with words' });
    expect(await refusal(registry.registerDescriptor(changed))).toMatchObject({ code: 'version_exists' });
    expect(await registry.registerDescriptor(changed, { replace: true })).toMatchObject({ outcome: 'replaced' });
    expect(await registry.registerDescriptor(changed)).toMatchObject({ outcome: 'unchanged' });
  });

  it('writes nothing on a dry run', async () => {
    expect(await registry.registerDescriptor(descriptorOf(), { dryRun: true })).toMatchObject({ outcome: 'created' });
    expect(await place.etcd.getAll().prefix(place.options.keyPrefix).count()).toBe(0);
  });

  it('refuses a version that differs only by build metadata', async () => {
    await registry.registerDescriptor(descriptorOf({ version: '1.10.0' }));
    expect(await refusal(registry.registerDescriptor(descriptorOf({ version: '1.10.0+b7' })))).toMatchObject({
      code: 'version_exists',
    });
    expect(await registry.registerDescriptor(descriptorOf({ version: '1.10.1' }))).toMatchObject({
      outcome: 'created',
    });
  });

  it('refuses what etcd could not store', async () => {
    const examples = Array.from({ length: 200 }, (_, n) => `${n}`.padEnd(2_048, 'x'));
    const capabilities = ['a', 'b', 'c'].map((name) => ({ name: `ability_${name}`, examples }));
    expect(await refusal(registry.registerDescriptor(descriptorOf({ capabilities })))).toMatchObject({
      code: 'payload_too_large',
    });
  });

  it('warns about a health check that is slow for the breaker', async () => {
    const slow = descriptorOf({ health_check: { interval_sec: 31 } });
    expect((await registry.registerDescriptor(slow)).warnings).toEqual([
      expect.stringContaining('quarter of the breaker window'),
    ]);
  });
});

describe('names (R15)', () => {
  it.each(['invoice_ocr', 'Invoice-OCR', 'ｉnvoice-ocr'.normalize('NFC'), 'іnvoice-ocr'])(
    'refuses %s beside invoice-ocr, naming both',
    async (name) => {
      await registry.registerDescriptor(descriptorOf({ name: 'reader', capabilities: ['invoice-ocr'] }));
      const error = await refusal(registry.registerDescriptor(descriptorOf({ name: 'other', capabilities: [name] })));
      expect(error).toMatchObject({
        code: 'name_collision',
        options: { errors: [{ pointer: '/capabilities/0/name' }] },
      });
      expect(error.message).toContain("'invoice-ocr'");
    },
  );

  it('refuses look-alike agent names and look-alikes within one descriptor', async () => {
    await registry.registerDescriptor(descriptorOf({ name: 'order-desk' }));
    expect(await refusal(registry.registerDescriptor(descriptorOf({ name: 'order_desk' })))).toMatchObject({
      code: 'name_collision',
      options: { errors: [{ pointer: '/name' }] },
    });
    const twice = descriptorOf({ name: 'twice', capabilities: ['sum_up', 'sum-up'] });
    expect(await refusal(registry.registerDescriptor(twice))).toMatchObject({
      code: 'name_collision',
      options: { errors: [{ pointer: '/capabilities/1/name' }] },
    });
  });

  it('lets several agents and versions offer the same ability, and an agent rename its own', async () => {
    await registry.registerDescriptor(descriptorOf());
    await registry.registerDescriptor(descriptorOf({ version: '2.0.0' }));
    await registry.registerDescriptor(descriptorOf({ name: 'second' }));
    await registry.registerDescriptor(descriptorOf({ name: 'third', capabilities: ['translate'] }));
    const renamed = descriptorOf({ name: 'third', capabilities: ['Translate'] });
    expect(await registry.registerDescriptor(renamed, { replace: true })).toMatchObject({ outcome: 'replaced' });
  });

  it('warns about near misses, and refuses them in strict mode', async () => {
    await registry.registerDescriptor(descriptorOf({ name: 'known', capabilities: ['intent_classify'] }));
    const near = descriptorOf({ name: 'near', capabilities: ['intent_classification'] });
    const strict = new Registry(place.options, { strictNames: true });
    place.onClose(() => strict.close());
    expect(await refusal(strict.registerDescriptor(near))).toMatchObject({ code: 'invalid_descriptor' });
    expect((await registry.registerDescriptor(near)).warnings).toEqual([
      expect.stringContaining("near 'intent_classify' of agent known"),
    ]);
  });

  it('frees names when an agent is deleted', async () => {
    await registry.registerDescriptor(descriptorOf({ capabilities: ['invoice-ocr'] }));
    expect(await registry.deleteAgent('refund')).toBe(true);
    expect(await registry.deleteAgent('refund')).toBe(false);
    expect(
      await registry.registerDescriptor(descriptorOf({ name: 'other', capabilities: ['invoice_ocr'] })),
    ).toMatchObject({ outcome: 'created' });
  });

  it('lets one of two racing gateways register colliding names, never both', async () => {
    for (let round = 0; round < 15; round++) {
      const gateways = [0, 1].map(() => new Registry(place.options));
      const spelling = [`scan_page_${round}`, `scan-page-${round}`];
      const outcomes = await Promise.allSettled(
        gateways.map((gateway, n) =>
          gateway.registerDescriptor(descriptorOf({ name: `scanner-${n}-of-${round}`, capabilities: [spelling[n]!] })),
        ),
      );
      expect(outcomes.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected']);
      expect(outcomes.find(({ status }) => status === 'rejected')).toMatchObject({
        reason: { code: 'name_collision' },
      });
    }
  });

  it('lets racing gateways create one version once', async () => {
    const gateways = Array.from({ length: 4 }, () => new Registry(place.options));
    const outcomes = await Promise.allSettled(
      gateways.map((gateway, n) => gateway.registerDescriptor(descriptorOf({ description: `from ${n}` }))),
    );
    expect(outcomes.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
    for (const outcome of outcomes)
      if (outcome.status === 'rejected') expect(outcome.reason).toMatchObject({ code: 'version_exists' });
  });
});

describe('tenants', () => {
  it('see nothing of each other, not even names', async () => {
    const other = { ...place.options, tenant: 'default-2' };
    const theirs = new Registry(other);
    const view = new RegistryView({ ...other, refreshIntervalMs: 1_000 });
    place.onClose(() => view.stop());
    await view.start();
    await registry.registerDescriptor(descriptorOf({ capabilities: ['invoice-ocr'] }));
    expect(await theirs.registerDescriptor(descriptorOf({ name: 'own', capabilities: ['invoice_ocr'] }))).toMatchObject(
      { outcome: 'created', warnings: [] },
    );
    await eventually(() => view.world().agents.length === 1);
    expect(view.world().agents.map(({ name }) => name)).toEqual(['own']);
    expect(await theirs.deleteAgent('refund')).toBe(false);
  });
});
