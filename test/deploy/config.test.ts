/** examples/agent-reach.yaml and docs/config.md against the schema: every key is there, with its default. */
import { z } from 'zod';
import { inactiveSettings, loadConfig } from '../../src/config';
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

  it('sets nothing that would be warned about', () => {
    expect(inactiveSettings({ text: sample })).toEqual([]);
  });

  it.each(keys)('has %s, at least as a comment', (key) => {
    const [section, ...path] = key.split('.');
    const parts = sample.split(/^(?=(?:# )?\w+:)/m);
    const part = parts.find((text) => new RegExp(`^(# )?${section}:`).test(text)) ?? '';
    expect(part).toMatch(new RegExp(`^ *(# *)?${path.at(-1) ?? section}:`, 'm'));
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

  it.each(keys)('has the default of %s', (key) => {
    const [, written = ''] =
      new RegExp(`^\\| \`${key.replaceAll('.', '\\.')}\` \\| ([^|]+) \\|`, 'm').exec(reference) ?? [];
    const value = key
      .split('.')
      .reduce<unknown>((from, name) => (from as Record<string, unknown>)[name], loadConfig({}));
    expect([key, written]).toEqual([key, inWords(value, written)]);
  });
});

const UNIT_MS = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000 } as const;

/** A default as the reference writes it; durations, which are milliseconds by now, in the unit used there. */
function inWords(value: unknown, written: string): string {
  if (value === undefined) return '–';
  if (Array.isArray(value))
    return written === 'all three' && value.length === 3 ? written : `\`[${value.join(', ')}]\``;
  if (typeof value === 'object') return `\`${JSON.stringify(value)}\``;
  const [, unit] = /^`\d+(ms|s|m|h)`$/.exec(written) ?? [];
  const number = unit === undefined ? String(value) : Number(value) / UNIT_MS[unit as keyof typeof UNIT_MS];
  return `\`${number}${unit ?? ''}\``;
}
