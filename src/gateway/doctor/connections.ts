/** Whether connections to agents are used again, and succeed (R39). Pure. */
import { fine, notChecked, type Finding } from '../../protocol/doctor';

/** What one process has counted of one agent's origin since `sinceMs`. */
export interface OriginCounts {
  origin: string;
  requests: number;
  connections: number;
  failures: number;
}

/** All origins of one process, and how long it has counted. */
export interface ConnectionCounts {
  origins: readonly OriginCounts[];
  forMs: number;
}

/** Fewer requests say nothing. */
const FEW_REQUESTS = 20;
/** More new connections per request mean that they are not kept. */
const REUSE_SHARE = 0.5;
/** Smaller shares of successful connects are told. */
const SUCCESS_WARNING = 0.99;
const SUCCESS_ERROR = 0.5;
const FEW_CONNECTS = 5;

/** New connections per second against requests per second, together and for each origin that closes its own. */
export function judgeReuse({ origins, forMs }: ConnectionCounts): Finding[] {
  const id = 'connections.reuse';
  const requests = sum(origins, 'requests');
  const connections = sum(origins, 'connections');
  const rates = `${rate(connections, forMs)} new connections/s for ${rate(requests, forMs)} requests/s`;
  if (requests < FEW_REQUESTS)
    return [notChecked(id, `only ${requests} requests went out of this process yet (${rates})`)];
  const found = origins
    .filter((one) => one.requests >= FEW_REQUESTS && one.connections / one.requests > REUSE_SHARE)
    .map(({ origin, requests: own, connections: opened }): Finding => ({
      id,
      severity: 'warning',
      subject: origin,
      measured: `${opened} new connections for ${own} requests; in all ${rates}`,
      why: 'each new connection costs a round trip or more, with TLS several, before the agent sees anything',
      fix: 'let the agent keep connections open (keep-alive) for longer than the pauses between calls, and answer without Connection: close',
    }));
  return found.length > 0 ? found : fine(id, rates);
}

/** The share of connects that succeed, together and for each origin that has failed ones. */
export function judgeConnects({ origins }: ConnectionCounts): Finding[] {
  const id = 'connections.success';
  const tries = sum(origins, 'connections') + sum(origins, 'failures');
  if (tries === 0) return [notChecked(id, 'no connection to an agent was tried by this process yet')];
  const found = origins.flatMap(({ origin, connections, failures }): Finding[] => {
    const own = connections + failures;
    const share = connections / own;
    if (own < FEW_CONNECTS || share >= SUCCESS_WARNING) return [];
    return [
      {
        id,
        severity: share < SUCCESS_ERROR ? 'error' : 'warning',
        subject: origin,
        measured: `${failures} of ${own} connects failed`,
        why: 'every failed connect is a retry, or a call that goes to another agent',
        fix: 'see that the agent listens there, that names resolve, and that nothing between drops connections',
        command: origin.startsWith('redis') ? `redis-cli -u ${origin} ping` : `curl -v ${origin}/healthz`,
      },
    ];
  });
  return found.length > 0 ? found : fine(id, `${tries - sum(origins, 'failures')} of ${tries} connects succeeded`);
}

function sum(origins: readonly OriginCounts[], part: 'requests' | 'connections' | 'failures'): number {
  return origins.reduce((total, one) => total + one[part], 0);
}

function rate(count: number, forMs: number): string {
  return (count / Math.max(1, forMs / 1_000)).toFixed(2);
}
