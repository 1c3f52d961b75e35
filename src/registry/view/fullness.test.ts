import { descriptorSchema } from '../../protocol/descriptor';
import type { AbilityStats, AgentVersion } from '../../protocol/world';
import { systemClock } from '../clock';
import { buildVersion, emptyEntry } from './agent-entry';
import { Fullness } from './fullness';

const NOTHING: AbilityStats = { requests: 0, failures: 0, p50_ms: null, p95_ms: null, p99_ms: null, in_flight: 0 };

/** Versions of one agent at addresses, as the view shows them after a count. */
class Desk {
  readonly counts = new Map<string, number>();
  private readonly fullness = new Fullness(
    {
      ability: () => null,
      instance: (_name, id) => ({ ...NOTHING, in_flight: this.counts.get(id) ?? 0 }),
    },
    systemClock,
  );

  counted(limits: Record<string, { places: number; addresses?: string[] }>): AgentVersion[] {
    const build = () =>
      Object.entries(limits).map(([version, { places, addresses = [`http://${version}.example/`] }]) => {
        const endpoint = { protocol: 'http', address: addresses };
        const draft = { name: 'desk', version, capabilities: ['work'], max_concurrency: places, endpoint };
        const record = { descriptor: descriptorSchema.parse(draft), registered_at: '' };
        const findings = { measured: this.fullness, ejections: { of: () => null } };
        return buildVersion(record as never, emptyEntry(), findings);
      });
    this.fullness.refresh(build());
    return build();
  }

  inFlight(id: string): number {
    return this.fullness.inFlight('desk', id);
  }
}

it('does not take the calls of one version for those of another at the same place in its list of addresses', () => {
  const desk = new Desk();
  desk.counts.set('static-0', 8);
  const versions = desk.counted({ '1.0.0': { places: 50 }, '2.0.0': { places: 5 } });
  expect(versions.map(({ instances }) => instances[0]!.status)).toEqual(['ready', 'ready']);
  expect(desk.inFlight('static-0')).toBe(0);
});

it('counts at the addresses that only one version has, and at all of them once it is alone', () => {
  const desk = new Desk();
  desk.counts.set('static-0', 8).set('static-1', 8);
  const two = { places: 5, addresses: ['http://a.example/', 'http://b.example/'] };
  const statuses = (versions: AgentVersion[]) => versions.at(-1)!.instances.map(({ status }) => status);
  expect(statuses(desk.counted({ '1.0.0': { places: 50 }, '2.0.0': two }))).toEqual(['ready', 'busy']);
  expect(statuses(desk.counted({ '2.0.0': two }))).toEqual(['busy', 'busy']);
});
