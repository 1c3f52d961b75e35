import { describeViolation, reconcile } from '../checker/reconcile';
import type { AgentLimits, Recording } from '../checker/facts';
import { Caller, type Message, type Sent } from './caller';
import { http } from './http';
import { draw, follow, startLoad, type Load, type LoadSpec } from './load';
import type { Random } from './random';
import { record } from './recorder';
import type { RowReport } from './scenario';
import type { Stage } from './stage';
import { eventually } from './waiting';

/** I4: healthy again within so long, without a person. */
const RECOVERY_LIMIT_MS = 30_000;
/** A reach that has not ended by then counts as lost. */
const END_LIMIT_MS = 90_000;

/** How an agent of a scenario is described. */
export interface AgentDraft {
  idempotent?: boolean;
  endpoint?: Record<string, unknown>;
  /** Called here instead of at the agents' process; null registers no address: it lives by its leases. */
  address?: string | null;
  descriptor?: Record<string, unknown>;
}

/** One run of one row: its agents, its load, its fault, and what was noted. Names are its own, so a stage can be shared. */
export class Act {
  readonly problems: string[] = [];
  readonly notes: string[] = [];
  /** Answers of 500, and what gateways and workers had logged as a defect, each kind once; {@link Scenario.toleratesDefects} */
  readonly defects = new Set<string>();
  readonly limits: AgentLimits[] = [];
  readonly redrives: Record<string, number> = {};
  violations: string[] = [];
  /** Messages that count towards the floor, and those among them that completed. */
  messages = 0;
  succeeded = 0;
  /** How the others among them ended, each with how many. */
  readonly otherwise = new Map<string, number>();
  recoveryMs: number | null = null;
  evidence: RowReport['evidence'] = null;
  private readonly agents: string[] = [];
  private readonly prefix: string;

  constructor(
    readonly stage: Stage,
    readonly random: Random,
    readonly options: {
      row: number;
      seed: number;
      /** 1 in `npm run chaos`, less in the short run of `npm test`. */
      scale: number;
      /** Reaches held at once in row 16. */
      reaches: number;
      signal: AbortSignal;
      /** Tells people what is being done. */
      say: (text: string) => void;
    },
  ) {
    const earlier = stage.acts.filter(({ row, seed }) => row === options.row && seed === options.seed).length;
    stage.acts.push(options);
    this.prefix = `r${String(options.row).padStart(2, '0')}-${options.seed}${earlier > 0 ? `-again${earlier}` : ''}`;
  }

  /** `count` at full scale, fewer in the short run. */
  scaled(count: number): number {
    return Math.max(4, Math.round(count * this.options.scale));
  }

  say(text: string): void {
    this.options.signal.throwIfAborted();
    this.options.say(text);
  }

  /** Notes what was expected and is not so. */
  expect(holds: boolean, otherwise: string): void {
    if (!holds) this.problems.push(otherwise);
  }

  /** A name of this row's own. */
  named(name: string): string {
    return `${this.prefix}-${name}`;
  }

  /** Registers an agent with one ability of the same name; returns that name. */
  async agent(name: string, draft: AgentDraft = {}): Promise<string> {
    const agent = this.named(name);
    const address = draft.address === undefined ? this.addressOf(agent) : draft.address;
    const descriptor = {
      name: agent,
      version: '1.0.0',
      capabilities: [
        {
          name: agent,
          description: `does the work of ${agent}`,
          ...(draft.idempotent !== undefined && { idempotent: draft.idempotent }),
        },
      ],
      endpoint: { protocol: 'http', timeout_ms: 10_000, ...(address !== null && { address }), ...draft.endpoint },
      ...draft.descriptor,
    };
    const answer = await http('POST', `${this.stage.urls[0]}/v1/agents`, { body: descriptor });
    if (answer?.status !== 201) throw new Error(`registering ${agent}: ${JSON.stringify(answer?.body ?? 'no answer')}`);
    this.agents.push(agent);
    await this.visible(agent);
    return agent;
  }

  caller(patienceMs?: number, gateways: readonly string[] = this.stage.urls): Caller {
    return new Caller(gateways, patienceMs, (what) => this.defects.add(what));
  }

  /** Begins to send what the seed draws. `patienceMs`: for how long a caller comes again; 0 for never. */
  load(spec: LoadSpec, { prefix = 'm', patienceMs }: { prefix?: string; patienceMs?: number } = {}): Load {
    const plan = draw(spec, this.random, this.named(prefix));
    return startLoad(plan, this.caller(patienceMs));
  }

  /** A single message to an ability, with everything at its default. */
  message(ability: string, key: string, more: Partial<Message> = {}): Message {
    return {
      key: this.named(key),
      ability,
      semantics: 'at_least_once',
      timeoutMs: 30_000,
      waitSec: null,
      script: { plan: [], work_ms: 20, tag: key },
      ...more,
    };
  }

  /** The fault is over: measures until every gateway is ready and completes a reach (I4). */
  async recovered(): Promise<void> {
    const startedMs = performance.now();
    const probe = this.named('probe');
    const results = await Promise.all(
      this.stage.urls.map((url, index) =>
        eventually(() => this.works(url, probe, `probe-${index}-${performance.now()}`), {
          limitMs: RECOVERY_LIMIT_MS,
        }),
      ),
    );
    const tookMs = performance.now() - startedMs;
    this.recoveryMs = Math.max(this.recoveryMs ?? 0, Math.round(tookMs));
    this.expect(results.every(Boolean), `not healthy ${RECOVERY_LIMIT_MS / 1_000} s after the end of the fault (I4)`);
  }

  /** Waits for every reach to end, reconciles, and counts. */
  async settle(...loads: Load[]): Promise<Recording> {
    this.say('waiting for every reach to end');
    await Promise.all(loads.map(({ done }) => done));
    const sent = loads.flatMap((load) => load.sent);
    return this.reconcileAll(
      sent,
      (await Promise.all(loads.map((load) => follow(load, this.caller(), END_LIMIT_MS)))).flat(),
    );
  }

  private async reconcileAll(sent: Sent[], ends: Awaited<ReturnType<typeof follow>>): Promise<Recording> {
    this.say('reading histories and reconciling');
    const abilities = this.agents;
    const { limits, redrives } = this;
    const caller = this.caller();
    const recording = await record(this.stage, {
      sent,
      ends,
      caller,
      agents: this.agents,
      abilities,
      redrives,
      limits,
    });
    this.judge(recording);
    this.count(new Set(sent.map(({ message }) => message.key)), recording);
    this.noteSetbacks(sent);
    return recording;
  }

  /** What was sent at most once and ended as unknown was lost with its call, as promised: it says nothing of the floor. */
  private count(keys: ReadonlySet<string>, { runs }: Recording): void {
    const completed = new Set(runs.filter(({ status }) => status === 'completed').map(({ key }) => key));
    const last = new Map(runs.map((run) => [run.key, run]));
    for (const key of keys) {
      if (completed.has(key)) this.succeeded += 1;
      const { semantics, status, code } = last.get(key) ?? { semantics: null, status: 'not accepted', code: null };
      if (!completed.has(key) && semantics === 'at_most_once' && status === 'outcome_unknown') continue;
      this.messages += 1;
      if (completed.has(key)) continue;
      const end = [status, code].filter(Boolean).join(' ');
      this.otherwise.set(end, (this.otherwise.get(end) ?? 0) + 1);
    }
  }

  private judge(recording: Recording): void {
    const broken = reconcile(recording);
    this.violations.push(...broken.map(describeViolation));
    const ids = new Set(broken.map(({ reach_id }) => reach_id));
    const of = <T extends { reach_id: string }>(items: T[]) => items.filter(({ reach_id }) => ids.has(reach_id));
    if (broken.length === 0) return;
    const { receipts, runs, journal, sightings } = recording;
    this.evidence = { receipts: of(receipts), runs: of(runs), journal: of(journal), sightings: of(sightings) };
  }

  private noteSetbacks(sent: Sent[]): void {
    const counts = new Map<string, number>();
    for (const what of sent.flatMap(({ setbacks, refusal }) => [
      ...setbacks,
      ...(refusal ? [`${refusal.status} ${refusal.code}`] : []),
    ])) {
      counts.set(what, (counts.get(what) ?? 0) + 1);
    }
    if (counts.size > 0) this.notes.push([...counts].map(([what, count]) => `${count}× ${what}`).join(', '));
  }

  private addressOf(agent: string): string {
    const proxy = this.stage.proxies.agents;
    return proxy ? `http://${proxy.address}/${agent}` : this.stage.agents.urlOf(agent);
  }

  /** Until every gateway knows it. */
  private async visible(agent: string): Promise<void> {
    const everywhere = async () => {
      const answers = await Promise.all(this.stage.urls.map((url) => http('GET', `${url}/v1/agents/${agent}`)));
      return answers.every((answer) => answer?.status === 200);
    };
    if (!(await eventually(everywhere, { limitMs: 10_000 }))) throw new Error(`${agent} is not known everywhere`);
  }

  private async works(url: string, ability: string, key: string): Promise<boolean> {
    const ready = await http('GET', `${url}/readyz`, { limitMs: 3_000 });
    if (ready?.status !== 200) return false;
    const answer = await http('POST', `${url}/v1/reaches`, {
      headers: { prefer: 'wait=5' },
      body: { ability, payload: { plan: [], work_ms: 1, tag: key }, timeout_ms: 5_000 },
      limitMs: 8_000,
    });
    return answer?.status === 200;
  }
}
