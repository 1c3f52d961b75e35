/** examples/agent-reach.yaml and docs/config.md against the schema: every key is there, with its default. */
import { z } from 'zod';
import { loadConfig } from '../../src/config';
import { configSchema } from '../../src/config/schema';
import { textOf } from './files';

interface ObjectSchema {
  properties?: Record<string, ObjectSchema>;
}

/** Paths of all settings, such as `router.weights.latency_score`; lists and what is in them count as one. */
function keysOf({ properties }: ObjectSchema, prefix = ''): string[] {
  if (!properties) return [prefix.slice(0, -1)];
  return Object.entries(properties).flatMap(([name, schema]) => keysOf(schema, `${prefix}${name}.`));
}

const keys = keysOf(z.toJSONSchema(configSchema, { io: 'input', unrepresentable: 'any' }) as ObjectSchema);
const sample = textOf('examples/agent-reach.yaml');
const reference = textOf('docs/config.md');

it('finds the settings that there are', () => {
  expect(keys).toEqual(
    expect.arrayContaining([
      'server.port',
      'router.weights.semantic_similarity',
      'router.rules',
      'security.egress_allow',
    ]),
  );
  expect(keys.length).toBeGreaterThan(30);
});

describe('examples/agent-reach.yaml', () => {
  it('loads, and changes nothing but the one token variable that it allows', () => {
    const config = loadConfig({ text: sample, fileName: 'examples/agent-reach.yaml' });
    const { security, ...rest } = loadConfig({});
    expect(config).toEqual({ ...rest, security: { ...security, token_env_allow: ['PRODUCT_QA_TOKEN'] } });
  });

  it.each(keys)('has %s, at least as a comment', (key) => {
    const section = sample.split(/^(?=\w+:)/m).find((part) => part.startsWith(`${key.split('.')[0]}:`)) ?? '';
    expect(section).toMatch(new RegExp(`^ +(# )?${key.split('.').at(-1)}:`, 'm'));
  });
});

describe('docs/config.md', () => {
  it.each(keys)('explains %s', (key) => {
    expect(reference).toMatch(new RegExp(`^\\| \`${key.replaceAll('.', '\\.')}\` \\| .+ \\| .{20,} \\|$`, 'm'));
  });

  it('explains nothing that is not there', () => {
    const named = [...reference.matchAll(/^\| `([a-z_.]+)` \|/gm)].map(([, key]) => key);
    expect(named.sort()).toEqual([...keys].sort());
  });

  it('names the defaults', () => {
    const defaults = loadConfig({});
    expect(reference).toContain(`| \`server.port\` | \`${defaults.server.port}\` |`);
    expect(reference).toContain(`| \`registry.health_threshold\` | \`${defaults.registry.health_threshold}\` |`);
    for (const [name, weight] of Object.entries(defaults.router.weights))
      expect(reference).toContain(`| \`router.weights.${name}\` | \`${weight}\` |`);
    for (const [name, weight] of Object.entries(defaults.router.instance_weights))
      expect(reference).toContain(`| \`router.instance_weights.${name}\` | \`${weight}\` |`);
  });
});
