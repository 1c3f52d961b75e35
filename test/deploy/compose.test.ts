/** The compose file as far as it can be judged without a container engine. */
import Ajv from 'ajv/dist/2020';
import { loadConfig } from '../../src/config';
import { SEARCH_ATTRIBUTES } from '../../workflows/search-attributes';
import { isThere, textOf, yamlOf } from './files';

interface Service {
  image: string;
  build?: string;
  command?: string[];
  environment?: Record<string, string>;
  volumes?: string[];
  ports?: string[];
  networks: string[];
  depends_on?: Record<string, { condition: string }>;
  healthcheck?: { test?: string[]; disable?: boolean };
}

interface Compose {
  services: Record<string, Service>;
  networks: Record<string, { internal?: boolean; ipam?: { config: { subnet: string }[] } } | null>;
  volumes: Record<string, unknown>;
}

const compose = yamlOf<Compose>('docker-compose.yml');
const { services } = compose;
const all = Object.entries(services);
const service = (name: string): Service => services[name] ?? fail(name);

/** The environment of a service as the engine would fill it in where nothing is set: `${NAME:-default}`. */
function environmentOf(name: string): Record<string, string> {
  const entries = Object.entries(service(name).environment ?? {});
  return Object.fromEntries(entries.map(([key, value]) => [key, value.replace(/^\$\{\w+:-(.*)\}$/, '$1')]));
}

function fail(name: string): never {
  throw new Error(`docker-compose.yml has no service ${name}`);
}

describe('docker-compose.yml', () => {
  it('is valid by the Compose specification', () => {
    // Formats such as `ports` are the container engine's own; what they check is checked below.
    const validate = new Ajv({ strict: false, validateFormats: false, allErrors: true }).compile(
      JSON.parse(textOf('test/deploy/compose-spec.schema.json')) as object,
    );
    validate(compose);
    expect(validate.errors).toBeNull();
    expect(validate({ services: { gateway: { imagee: 'typo' } } })).toBe(false);
  });

  it.each(all)(
    '%s: image, networks, volumes and dependencies exist',
    (_name, { image, build, networks, volumes = [], depends_on = {} }) => {
      expect(image).toMatch(/^[a-z0-9./-]+:v?\d+\.\d+(\.\d+)?(-[a-z0-9]+)?$/);
      if (build !== undefined) expect(isThere(`${build}/Dockerfile`)).toBe(true);
      for (const network of networks) expect(Object.keys(compose.networks)).toContain(network);
      for (const volume of volumes) {
        const source = volume.split(':')[0] ?? '';
        expect(source.startsWith('./') ? isThere(source) : Object.hasOwn(compose.volumes, source)).toBe(true);
      }
      for (const [other, { condition }] of Object.entries(depends_on)) {
        if (condition === 'service_healthy') expect(service(other).healthcheck?.test).toBeDefined();
        else expect(condition).toBe('service_completed_successfully');
      }
    },
  );

  it('publishes the gateway and the Temporal Web UI, on loopback, and nothing else', () => {
    const published = all.filter(([, { ports = [] }]) => ports.length > 0).map(([name]) => name);
    expect(published.sort()).toEqual(['gateway', 'temporal-ui']);
    for (const [, { ports = [] }] of all) for (const port of ports) expect(port).toMatch(/^127\.0\.0\.1:\d+:\d+$/);
  });

  it('keeps the engines on an internal network', () => {
    expect(compose.networks.engines).toMatchObject({ internal: true });
    for (const engine of ['postgres', 'temporal', 'etcd']) expect(service(engine).networks).toEqual(['engines']);
  });

  it('has no secret in it', () => {
    for (const [, { environment = {} }] of all) {
      for (const [name, value] of Object.entries(environment)) {
        if (/PASSWORD|PWD|KEY|TOKEN|SECRET/.test(name)) expect(value).toMatch(/^\$\{[A-Z_]+:[?-][^}]*\}$/);
      }
    }
  });
});

describe('the gateway and the worker of docker-compose.yml', () => {
  const text = textOf('deploy/agent-reach.yaml');
  const configOf = (environment: Record<string, string> = {}) =>
    loadConfig({ text, fileName: 'deploy/agent-reach.yaml', env: environment });
  const plain = configOf();
  const namedInConfig = (name: string) => Object.values(plain.security).flat().includes(name);

  it.each(['gateway', 'worker'])('%s: every variable is one that the configuration reads', (name) => {
    for (const variable of Object.keys(service(name).environment ?? {})) {
      const sample = variable === 'AGENT_REACH_LOG_LEVEL' ? 'trace' : 'http://sample.example:1';
      const read = JSON.stringify(configOf({ [variable]: sample })) !== JSON.stringify(plain);
      expect([variable, read || namedInConfig(variable)]).toEqual([variable, true]);
    }
  });

  it.each(['gateway', 'worker'])('%s: finds the engines under their services’ names and ports', (name) => {
    const { temporal, registry } = configOf(environmentOf(name));
    expect(temporal).toMatchObject({
      address: 'temporal:7233',
      namespace: service('temporal-namespace').environment?.TEMPORAL_NAMESPACE,
    });
    expect(registry.etcd).toEqual(['etcd:2379']);
    for (const [host] of [temporal.address, ...registry.etcd].map((address) => address.split(':')))
      expect(services).toHaveProperty(host ?? '');
    expect(service(name).depends_on).toMatchObject({ 'temporal-namespace': {}, etcd: {} });
  });

  it('run from one image, the worker apart from the gateway', () => {
    expect(service('gateway').command).toContain('--no-worker');
    expect(service('worker').command?.[0]).toBe('worker');
    expect(service('worker').image).toBe(service('gateway').image);
    for (const name of ['gateway', 'worker']) {
      const { command = [], volumes = [] } = service(name);
      expect(volumes).toContain(`./deploy/agent-reach.yaml:${command.at(-1)}:ro`);
    }
  });

  it('the gateway listens beyond loopback and therefore asks for a key', () => {
    expect(plain.server.host).toBe('0.0.0.0');
    expect(service('gateway').environment).toHaveProperty(plain.security.api_key_env ?? '');
    expect(service('gateway').ports).toEqual([`127.0.0.1:8080:${plain.server.port}`]);
    expect(service('gateway').healthcheck?.test?.join(' ')).toContain(`:${plain.server.port}/readyz`);
  });

  it('every token that descriptors may use is passed to the worker', () => {
    for (const token of plain.security.token_env_allow) expect(service('worker').environment).toHaveProperty(token);
  });

  it('may call the network of the agents and no other private one', () => {
    expect(plain.security.egress_allow).toEqual(compose.networks.agents?.ipam?.config.map(({ subnet }) => subnet));
  });

  it('links to the Web UI where it is published', () => {
    const port = service('temporal-ui').ports?.[0]?.split(':')[1];
    expect(plain.temporal.ui_url).toBe(`http://127.0.0.1:${port}`);
  });
});

describe('Temporal in docker-compose.yml', () => {
  it('keeps persistence and visibility on PostgreSQL, in the databases that are set up', () => {
    const { environment = {} } = service('temporal');
    expect(environment).toMatchObject({ DB: 'postgres12', POSTGRES_SEEDS: 'postgres' });
    const script = textOf('deploy/temporal/setup-schema.sh');
    for (const database of [environment.DBNAME, environment.VISIBILITY_DBNAME])
      expect(script).toMatch(new RegExp(`^prepare ${database} `, 'm'));
  });

  it('has the dynamic configuration of the embedded server', () => {
    const source = textOf('src/engines/temporal.ts');
    const embedded = [...source.matchAll(/'--dynamic-config-value', '([\w.]+)=([^']+)'/g)].map(
      ([, key, value]) => [key, JSON.parse(value ?? '')] as const,
    );
    expect(embedded).toHaveLength(2);
    const file = yamlOf<Record<string, { value: unknown }[]>>('deploy/temporal/dynamicconfig.yaml');
    expect(Object.entries(file).map(([key, [only]]) => [key, only?.value])).toEqual(embedded);
    expect(service('temporal').environment?.DYNAMIC_CONFIG_FILE_PATH).toBe('/setup/dynamicconfig.yaml');
    expect(service('temporal').volumes).toContain('./deploy/temporal:/setup:ro');
  });

  it('registers the search attributes of a reach, and keeps finished runs for 7 days', () => {
    const [, names] = /^search_attributes='([^']+)'$/m.exec(textOf('deploy/temporal/prepare-namespace.sh')) ?? [];
    expect(names?.split(' ')).toEqual(Object.keys(SEARCH_ATTRIBUTES));
    expect(new Set(Object.values(SEARCH_ATTRIBUTES))).toEqual(new Set(['Keyword']));
    expect(service('temporal-namespace').environment?.RETENTION).toBe('7d');
  });

  it.each(['temporal-schema', 'temporal-namespace'])('%s runs a script that is there', (name) => {
    const { entrypoint } = service(name) as Service & { entrypoint: string[] };
    expect(isThere(`deploy/temporal/${entrypoint.at(-1)?.split('/').at(-1)}`)).toBe(true);
  });

  it('etcd is a version that does not lose data in a crash', () => {
    const [, minor, patch] = /:v3\.(\d+)\.(\d+)$/.exec(service('etcd').image) ?? [];
    expect(Number(minor) > 5 || (Number(minor) === 5 && Number(patch) >= 9)).toBe(true);
  });
});
