import { setTimeout as sleep } from 'node:timers/promises';
import { InvalidArgumentError, type Command } from 'commander';
import { MAX_OVERRIDE_SEC, type BreakerItem, type BreakerOverrideRequest } from '../../protocol/breaker-override';
import { Transport, type TransportCall } from '../../sdk/transport';
import { parseAgentAt, type AgentRef } from '../agent-ref';
import { UsageError } from '../exit-codes';
import { parseDuration } from '../parse';
import { printableAnswers } from '../printable';
import { jsonOnChange, linesOnChange, picture, renderBreakers, renderOutcome, summary } from '../render/breakers';
import type { CliContext, GlobalOptions, Session } from '../session';

const WATCH_MS = 1_000;
/** Most time for one request, ms. */
const REQUEST_TIMEOUT_MS = 10_000;
/** People do not wait for ten repeats to hear that nobody listens. */
const MAX_RETRIES = 2;

interface Items {
  items: BreakerItem[];
}

/** Breakers behind one gateway. All requests may be repeated: they say how things are to be, not what is to be done. */
class BreakersClient {
  constructor(private readonly transport: Transport) {}

  list({ all, signal }: { all: boolean; signal: AbortSignal }): Promise<Items> {
    return this.request({ method: 'GET', path: '/v1/breakers', query: { all: all || undefined }, signal });
  }

  hold(target: Target, request: Omit<BreakerOverrideRequest, 'version'>): Promise<Items> {
    const { version } = target;
    return this.request({ method: 'PUT', path: pathOf(target), body: { ...request, version } });
  }

  release(target: Target): Promise<Items> {
    const { version } = target;
    return this.request({ method: 'DELETE', path: pathOf(target), query: { version } });
  }

  private async request(call: Omit<TransportCall, 'timeoutMs' | 'retry'>): Promise<Items> {
    return (await this.transport.request<Items>({ ...call, timeoutMs: REQUEST_TIMEOUT_MS, retry: 'always' })).body;
  }
}

/** Without a version, the breakers of all versions. */
interface Target extends AgentRef {
  ability: string;
}

interface HoldOptions {
  reason: string;
  for?: number;
  agentVersion?: string;
}

/** `breakers`, `breakers open|close|auto AGENT ABILITY` (R28). */
export function addBreakers(program: Command, context: CliContext): void {
  const breakers = program
    .command('breakers')
    .description('circuit breakers that are not closed, and holding them open or closed')
    .option('--all', 'those of every registered ability')
    .option('--watch', 'look again every second until interrupted')
    .addHelpText(
      'after',
      '\nExamples:\n  $ agent-reach breakers --watch\n  $ agent-reach breakers open refund_agent refund_progress --reason "bank maintenance" --for 30m\n  $ agent-reach breakers auto refund_agent#1.2.0 refund_progress',
    )
    .action((options: { all?: boolean; watch?: boolean }, command: Command) =>
      withBreakers(context, command, (session, client) =>
        (options.watch ? watch : show)(session, client, options.all === true),
      ),
    );
  addHold(breakers, context, { name: 'open', state: 'open', effect: 'let nothing through' });
  addHold(breakers, context, { name: 'close', state: 'closed', effect: 'let everything through' });
  addAuto(breakers, context);
}

function addHold(
  breakers: Command,
  context: CliContext,
  { name, state, effect }: { name: string; state: BreakerOverrideRequest['state']; effect: string },
): void {
  breakers
    .command(name)
    .description(`${effect}, whatever the breaker itself finds`)
    .argument('<agent>', 'NAME, or NAME#VERSION for this version only')
    .argument('<ability>')
    .requiredOption('--reason <text>', 'why; told to whoever is refused')
    .option('--for <duration>', 'then it is on its own again, such as 10m; default: until `breakers auto`', parseHold)
    .option('--agent-version <version>', 'the same as NAME#VERSION')
    .action((agent: string, ability: string, options: HoldOptions, command: Command) =>
      withBreakers(context, command, async ({ io, print }, client) => {
        const { reason, for: seconds, agentVersion } = options;
        const target = { ...parseAgentAt(agent, agentVersion), ability };
        const answer = await client.hold(target, { state, reason, expires_in_sec: seconds });
        print(answer, () => renderOutcome(answer.items, io.color));
      }),
    );
}

function addAuto(breakers: Command, context: CliContext): void {
  breakers
    .command('auto')
    .description('take back what `open` or `close` said')
    .argument('<agent>', 'NAME, or NAME#VERSION for this version only')
    .argument('<ability>')
    .option('--agent-version <version>', 'the same as NAME#VERSION')
    .action((agent: string, ability: string, { agentVersion }: Pick<HoldOptions, 'agentVersion'>, command: Command) =>
      withBreakers(context, command, async ({ io, print }, client) => {
        const answer = await client.release({ ...parseAgentAt(agent, agentVersion), ability });
        print(answer, () => renderOutcome(answer.items, io.color));
      }),
    );
}

async function show({ io, print }: Session, client: BreakersClient, all: boolean): Promise<void> {
  const page = await client.list({ all, signal: io.signal });
  print(page, () => (page.items.length > 0 ? renderBreakers(page.items, io) : summary(page.items)));
}

/** On a terminal one picture that is drawn again; elsewhere a line, or with `--json` a list, for what changed. */
async function watch({ io, json }: Session, client: BreakersClient, all: boolean): Promise<void> {
  const draw = json ? jsonOnChange(io) : io.columns === undefined ? linesOnChange(io) : picture(io);
  const over = AbortSignal.any([io.signal, io.readerGone]);
  while (!over.aborted) {
    try {
      draw((await client.list({ all, signal: over })).items);
      await sleep(WATCH_MS, undefined, { signal: over });
    } catch (caught) {
      if (!over.aborted) throw caught;
    }
  }
}

/** Whole seconds, from one to a week. */
function parseHold(text: string): number {
  const seconds = Math.ceil(parseDuration(text) / 1_000);
  if (seconds >= 1 && seconds <= MAX_OVERRIDE_SEC) return seconds;
  throw new InvalidArgumentError('from 1s to 7d; leave it out to hold until `breakers auto`');
}

/** Runs a command with a client of its own; without `--json` what it answers is safe to print. */
function withBreakers(
  { io, run }: CliContext,
  command: Command,
  work: (session: Session, client: BreakersClient) => Promise<void>,
): Promise<void> {
  return run(command, async (session) => {
    const apiKey = command.optsWithGlobals<GlobalOptions>().apiKey ?? io.env.AGENT_REACH_API_KEY;
    const transport = new Transport({ url: session.url, apiKey: apiKey || undefined, maxRetries: MAX_RETRIES });
    const client = new BreakersClient(transport);
    try {
      await work(session, session.json ? client : printableAnswers(client));
    } finally {
      await transport.close();
    }
  });
}

function pathOf({ name, ability }: Target): string {
  if (ability === '') throw new UsageError('name the ability; an empty name names nothing');
  return `/v1/agents/${encodeURIComponent(name)}/abilities/${encodeURIComponent(ability)}/breaker`;
}
