import type { ReachError } from '../protocol/reach-error';
import { loadConfig } from './load';
import { isLoopback } from './loopback';
import { assertSecretsSet, secretOf } from './secrets';

const refusal = (text: string, env: Record<string, string>) => {
  try {
    assertSecretsSet(loadConfig({ text }), env);
  } catch (error) {
    return error as ReachError;
  }
  throw new Error('it was accepted');
};

it.each([
  ['temporal: { api_key_env: KEY }', '/temporal/api_key_env'],
  ['security: { api_key_env: KEY }', '/security/api_key_env'],
  ['security: { reach_token_secret_env: KEY }', '/security/reach_token_secret_env'],
  ['embeddings: { url: "http://e.example/v1", api_key_env: KEY }', '/embeddings/api_key_env'],
])('refuses %s while the variable is not set, or empty', (text, pointer) => {
  for (const env of [{}, { KEY: '' }]) {
    const { code, message, options } = refusal(text, env as Record<string, string>);
    expect(code).toBe('invalid_request');
    expect(message).toContain('names KEY, which is not set; set the variable, or remove the setting');
    expect(options.errors?.[0]?.pointer).toBe(pointer);
  }
  const config = loadConfig({ text });
  expect(() => assertSecretsSet(config, { KEY: 'a secret of at least 32 bytes, as it must be' })).not.toThrow();
});

it('refuses a short secret of reach tokens without telling it', () => {
  const { code, message } = refusal('security: { reach_token_secret_env: KEY }', { KEY: 'hush' });
  expect([code, message]).toEqual(['invalid_request', expect.stringContaining('4 bytes; it must have at least 32')]);
  expect(message).not.toContain('hush');
});

it('takes what a setting names, and nothing where none is made or nothing uses it', () => {
  const config = loadConfig({ text: 'temporal: { api_key_env: KEY }\nembeddings: { api_key_env: OTHER }' });
  expect(secretOf('temporal.api_key_env', config, { KEY: 'k' })).toBe('k');
  expect(secretOf('security.api_key_env', config, { KEY: 'k' })).toBeUndefined();
  expect(() => assertSecretsSet(config, { KEY: 'k' })).not.toThrow();
});

it.each(['127.0.0.1', '127.0.0.1:7233', 'localhost', 'localhost:1', '::1', '[::1]', '[::1]:7233', '127.8.0.1'])(
  '%s is loopback',
  (host) => expect(isLoopback(host)).toBe(true),
);
it.each(['0.0.0.0', '10.0.0.1:7233', 'ns.tmprl.cloud:7233', '127.example.com', '::', '[::2]:1', 'localhost.example'])(
  '%s is not',
  (host) => expect(isLoopback(host)).toBe(false),
);
