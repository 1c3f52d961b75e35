import { ReachError } from '../protocol/reach-error';
import type { Config } from './schema';

/** A `…_env` setting, as `section.key`. */
type SecretSetting = 'temporal.api_key_env' | 'embeddings.api_key_env' | 'security.api_key_env' | TokenSecret;
type TokenSecret = 'security.reach_token_secret_env';

/** `security.reach_token_secret_env` holds at least so much, bytes: as long as what HS256 makes of it (RFC 7518, 3.2). */
const TOKEN_SECRET_BYTES = 32;

/**
 * The secret in the environment variable that a setting names; undefined where the setting is not made.
 * @throws ReachError `invalid_request` when the variable is not set or empty: whoever names one means to use it
 */
export function secretOf(setting: SecretSetting, config: Config, env = process.env): string | undefined {
  const [section, key] = setting.split('.') as ['security', 'api_key_env'];
  const variable: string | undefined = config[section][key];
  if (variable === undefined) return undefined;
  const value = env[variable];
  if (value) return value;
  throw wrong(setting, `names ${variable}, which is not set`, 'set the variable, or remove the setting');
}

/**
 * Looks at every secret that is named before anything is connected to or started: a platform that goes on without one does so
 * unprotected, or fails much later. @throws ReachError `invalid_request` that names setting and variable, never the value
 */
export function assertSecretsSet(config: Config, env = process.env): void {
  secretOf('temporal.api_key_env', config, env);
  secretOf('security.api_key_env', config, env);
  if (config.embeddings.url !== undefined) secretOf('embeddings.api_key_env', config, env);
  const secret = secretOf('security.reach_token_secret_env', config, env);
  const bytes = secret === undefined ? TOKEN_SECRET_BYTES : Buffer.byteLength(secret);
  if (bytes < TOKEN_SECRET_BYTES)
    throw wrong(
      'security.reach_token_secret_env',
      `names a secret of ${bytes} bytes; it must have at least ${TOKEN_SECRET_BYTES}`,
      'take a random one, such as openssl rand -hex 32 makes',
    );
}

function wrong(setting: SecretSetting, message: string, fix: string): ReachError {
  const pointer = `/${setting.replace('.', '/')}`;
  return new ReachError('invalid_request', `${setting} ${message}; ${fix}`, { errors: [{ pointer, message, fix }] });
}
