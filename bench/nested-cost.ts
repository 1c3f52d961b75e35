/** What it costs that a reach is made for another (R10), against the same reach made for nobody. */
import { createServer, type Server } from 'node:http';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { performance } from 'node:perf_hooks';
import type { Callers } from './contenders';
import { latencyOf, rounded } from './statistics';

/** `p50_ratio`: nested to plain, the two taking turns one by one. */
export interface NestedCost {
  p50_ratio: number;
  plain_p50_ms: number;
  nested_p50_ms: number;
}

const HOLDER = 'bench_holder';

/** An agent that works on its call until the end of the measurement: the call that nested reaches are made for. */
async function holdCall(callers: Callers): Promise<{ token: string; server: Server }> {
  let give: (token: string) => void = () => undefined;
  const token = new Promise<string>((resolve) => (give = resolve));
  const server = createServer((request) => {
    request.resume();
    give(String(request.headers['x-reach-token']));
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
  const capabilities = [{ name: HOLDER, description: 'Holds what it gets.' }];
  await callers.post('/v1/agents', {
    name: HOLDER,
    version: '1.0.0',
    capabilities,
    endpoint: { protocol: 'http', address, timeout_ms: 600_000 },
  });
  await callers.send(HOLDER, { timeout_ms: 3_600_000 });
  return { token: await token, server };
}

/** `pairs` times one of each, in turns. @throws WrongAnswerError for an answer that is not the right one */
export async function nestedCost(
  callers: Callers,
  { pairs, signal, onAnswer }: { pairs: number; signal: AbortSignal; onAnswer: () => void },
): Promise<NestedCost> {
  const { token, server } = await holdCall(callers);
  try {
    const plain: number[] = [];
    const nested: number[] = [];
    for (let pair = 0; pair < pairs; pair += 1) {
      signal.throwIfAborted();
      plain.push(await timed(() => callers.callForAnother(null)));
      nested.push(await timed(() => callers.callForAnother(token)));
      onAnswer();
    }
    const [plain_p50_ms, nested_p50_ms] = [latencyOf(plain).p50_ms, latencyOf(nested).p50_ms];
    return { p50_ratio: rounded(nested_p50_ms / plain_p50_ms, 3), plain_p50_ms, nested_p50_ms };
  } finally {
    server.close();
    server.closeAllConnections();
  }
}

async function timed(call: () => Promise<unknown>): Promise<number> {
  const startedMs = performance.now();
  await call();
  return performance.now() - startedMs;
}
