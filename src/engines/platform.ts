import { EngineUnsupportedError } from './errors';
import { INSTEAD } from './hints';
import type { EnginePin, Platform } from './pins';
import type { EngineName } from './types';

/** What decides whether a prebuilt program runs here. */
export interface Host {
  platform: string;
  arch: string;
  /** glibc or musl on Linux; builds for one do not run on the other. */
  glibc: boolean;
}

/** The machine this process runs on. */
export function thisHost(): Host {
  return { platform: process.platform, arch: process.arch, glibc: hasGlibc() };
}

/**
 * Whether the embedded embedding server runs on this machine. It is used on x86-64 Linux with glibc only;
 * `reason` says what is missing elsewhere, and what to configure instead.
 */
export function embeddingsSupported(host: Host = thisHost()): { supported: boolean; reason?: string } {
  const found = `${host.platform}-${host.arch}${host.platform === 'linux' && !host.glibc ? ' without glibc' : ''}`;
  if (found === 'linux-x64') return { supported: true };
  return {
    supported: false,
    reason: `The embedded embedding server runs on x86-64 Linux with glibc only; this is ${found}. ${INSTEAD.embeddings}`,
  };
}

/** The platform whose build of the engine fits this machine. @throws {EngineUnsupportedError} when none does. */
export function platformFor(name: EngineName, pin: EnginePin, host: Host = thisHost()): Platform {
  const key = `${host.platform}-${host.arch}`;
  const support = name === 'embeddings' ? embeddingsSupported(host) : { supported: true };
  if (support.supported && isPlatform(key, pin)) return key;
  throw new EngineUnsupportedError(
    name,
    `there is no build of ${pin.package} ${pin.version} for ${key}`,
    INSTEAD[name],
  );
}

function isPlatform(key: string, pin: EnginePin): key is Platform {
  return key in pin.wheels;
}

function hasGlibc(): boolean {
  if (process.platform !== 'linux') return false;
  const report = process.report.getReport() as unknown as { header?: { glibcVersionRuntime?: string } };
  return report.header?.glibcVersionRuntime !== undefined;
}
