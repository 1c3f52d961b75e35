import { parseDocument } from 'yaml';
import { ReachError } from '../protocol/reach-error';
import { assertPlainJson } from '../protocol/strict-json';
import { validate } from '../protocol/validation';
import { configSchema, INACTIVE_SETTINGS, type Config } from './schema';

/** Environment variables that override single settings; everything else is in the file. */
const ENVIRONMENT: Record<string, readonly [string, string]> = {
  AGENT_REACH_PORT: ['server', 'port'],
  AGENT_REACH_HOST: ['server', 'host'],
  TEMPORAL_ADDRESS: ['temporal', 'address'],
  TEMPORAL_NAMESPACE: ['temporal', 'namespace'],
  AGENT_REACH_ETCD: ['registry', 'etcd'],
  AGENT_REACH_EMBEDDINGS_URL: ['embeddings', 'url'],
  AGENT_REACH_LOG_LEVEL: ['logging', 'level'],
};

/** Of these, the ones that say where engines are. */
const OF_ENGINES = ['TEMPORAL_ADDRESS', 'TEMPORAL_NAMESPACE', 'AGENT_REACH_ETCD'];

/**
 * The environment for a gateway and a worker whose engines were started for them: without the variables that would win over
 * the file and send them to whatever engines the shell points at.
 *
 * @param started whether an embedding engine was started too
 */
export function withoutEngines(
  env: Record<string, string | undefined>,
  started: { embeddings: boolean },
): Record<string, string | undefined> {
  const dropped = new Set([...OF_ENGINES, ...(started.embeddings ? ['AGENT_REACH_EMBEDDINGS_URL'] : [])]);
  return Object.fromEntries(Object.entries(env).filter(([name]) => !dropped.has(name)));
}

/** An environment in which nothing overrides the file. */
export function withoutOverrides(env: Record<string, string | undefined>): Record<string, string | undefined> {
  return Object.fromEntries(Object.entries(env).filter(([name]) => !Object.hasOwn(ENVIRONMENT, name)));
}

/** Where the configuration comes from: the text of `agent-reach.yaml`, the environment, and flags, weakest first. */
export interface ConfigSources {
  /** YAML; empty or absent means defaults. */
  text?: string;
  /** Named in errors. */
  fileName?: string;
  env?: Record<string, string | undefined>;
  /** Settings from command-line flags, by section. */
  overrides?: Record<string, Record<string, unknown>>;
}

/**
 * Parses the configuration once, at the edge. Throws ReachError `invalid_request` that lists every finding
 * with its JSON pointer, unknown keys with the nearest known one.
 */
export function loadConfig(sources: ConfigSources): Config {
  const merged: Record<string, Record<string, unknown>> = structuredClone(readSettings(sources));
  for (const [variable, [section, key]] of Object.entries(ENVIRONMENT)) {
    const value = sources.env?.[variable];
    if (value) merged[section] = { ...merged[section], [key]: fromText(key, value) };
  }
  for (const [section, values] of Object.entries(sources.overrides ?? {}))
    merged[section] = { ...merged[section], ...values };
  try {
    return validate(configSchema, merged);
  } catch (caught) {
    throw listed(ReachError.from(caught), sources.fileName);
  }
}

/** All findings, one a line, under the name of the file. */
function listed(error: ReachError, fileName = 'The configuration'): ReachError {
  const lines = (error.options.errors ?? []).map(
    ({ pointer, message, fix }) => `  ${pointer || '/'} ${message}${fix ? ` (${fix})` : ''}`,
  );
  return new ReachError(error.code, `${fileName} is not valid:\n${lines.join('\n')}`, error.options);
}

/** Which settings of a file have no effect in this release; for a warning at start. */
export function inactiveSettings(sources: Pick<ConfigSources, 'text' | 'fileName'>): string[] {
  const written: Record<string, Record<string, unknown>> = readSettings(sources);
  return INACTIVE_SETTINGS.filter((setting) => {
    const [section = '', key] = setting.split('.');
    return key === undefined ? written[section] !== undefined : written[section]?.[key] !== undefined;
  });
}

/**
 * The settings of a file as written, by section; what they are is not checked.
 * @throws ReachError `invalid_request` for anything but a map of sections in YAML
 */
export function readSettings({
  text,
  fileName,
}: Pick<ConfigSources, 'text' | 'fileName'>): Record<string, Record<string, unknown>> {
  if (!text?.trim()) return {};
  const document = parseDocument(text, { uniqueKeys: true });
  const [error] = document.errors;
  if (error)
    throw new ReachError('invalid_request', `${fileName ?? 'The configuration'} is not valid YAML: ${error.message}`);
  const value: unknown = document.toJS({ maxAliasCount: 20 });
  assertPlainJson(value);
  if (value === null || typeof value !== 'object' || Array.isArray(value)) {
    throw new ReachError(
      'invalid_request',
      `${fileName ?? 'The configuration'} must be a map of sections such as server: and registry:`,
    );
  }
  return value as Record<string, Record<string, unknown>>;
}

function fromText(key: string, value: string): unknown {
  if (key === 'port') return Number(value);
  return key === 'etcd' ? value.split(',').map((host) => host.trim()) : value;
}
