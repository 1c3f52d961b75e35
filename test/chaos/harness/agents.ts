import { fork, type ChildProcess } from 'node:child_process';
import { EventEmitter, on, once } from 'node:events';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { JournalEntry } from '../checker/facts';
import { killed } from './agent-instance';
import type { Command, Line, Mode, Report } from './agent-script';
import { compiled } from './place';

/** An arrival at an agent, told the moment it happened. */
export type Arrival = Extract<Report, { kind: 'got' }>;

/** The agents' process, seen from the harness: it can be killed and started again on the same port and journal. */
export class Agents {
  private child: ChildProcess | null = null;
  private readonly reports = new EventEmitter();
  /** Where agents write down what they see; others may write there as well, a line at a time. */
  readonly file: string;
  private address: string | null = null;

  private constructor(dataDir: string) {
    this.file = join(dataDir, 'agents.journal');
    this.reports.setMaxListeners(100);
  }

  static async start(dataDir: string): Promise<Agents> {
    const agents = new Agents(dataDir);
    await agents.restart();
    return agents;
  }

  /** Where an agent is called. */
  urlOf(agent: string): string {
    return `${this.address}/${agent}`;
  }

  /** `host:port` of all agents. */
  get host(): string {
    return new URL(this.address ?? '').host;
  }

  async restart(): Promise<void> {
    const port = this.address ? new URL(this.address).port : '0';
    const child = fork(compiled('test/chaos/harness/agent-process.js'), [this.file, port], {
      stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
      detached: true,
    });
    this.child = child;
    const gone = once(child, 'exit').then(() => Promise.reject(new Error('the agents ended while they were started')));
    child.on('message', (report: Report) => {
      if (report.kind === 'listening') this.address = report.url;
      this.reports.emit(report.kind, report);
    });
    const listening = once(this.reports, 'listening');
    gone.catch(() => undefined);
    await Promise.race([listening, gone]);
  }

  async kill(): Promise<void> {
    const { child } = this;
    this.child = null;
    await killed(child);
  }

  /** From now on, whatever the scripts say. */
  setMode(agent: string, mode: Mode): void {
    this.child?.send({ agent, mode } satisfies Command);
  }

  /** Delivers every result that the agent holds, through this gateway, each `copies` times at once. */
  release(agent: string, gateway: string, copies = 1): void {
    this.child?.send({ agent, release: gateway, copies } satisfies Command);
  }

  /** Arrivals from now on, for as long as the caller goes on asking. */
  async *arrivals(signal: AbortSignal): AsyncGenerator<Arrival> {
    try {
      for await (const [arrival] of on(this.reports, 'got', { signal })) yield arrival as Arrival;
    } catch (error) {
      if (!signal.aborted) throw error;
    }
  }

  /** The next arrival; null when none came in time. */
  async nextArrival(limitMs: number): Promise<Arrival | null> {
    for await (const arrival of this.arrivals(AbortSignal.timeout(limitMs))) return arrival;
    return null;
  }

  /** What the agents saw so far; those named, or all. */
  journal(agents?: readonly string[]): JournalEntry[] {
    const text = existsSync(this.file) ? readFileSync(this.file, 'utf8') : '';
    const entries = entriesOf(text);
    return agents ? entries.filter(({ agent }) => agents.includes(agent)) : entries;
  }
}

/** Puts the lines of a journal together. A line that a kill cut short is the last of its process, and is left out. */
export function entriesOf(text: string): JournalEntry[] {
  const entries = new Map<string, JournalEntry>();
  for (const raw of text.split('\n')) {
    const line = parseLine(raw);
    if (line?.e === 'in') entries.set(line.id, arrived(line));
    const entry = line && entries.get(line.id);
    if (line?.e === 'work' && entry) Object.assign(entry, { worked: true, output_id: line.output_id });
    if (line?.e === 'out' && entry) Object.assign(entry, { answer: line.answer, left_ms: line.at });
  }
  return [...entries.values()];
}

function arrived(line: Extract<Line, { e: 'in' }>): JournalEntry {
  const { agent, reach_id, key, tag = null, attempt, fence, bypass, queued, at } = line;
  const unanswered = { left_ms: null, answer: 'none', worked: false, output_id: null };
  const call = { agent, reach_id, key, tag, attempt, fence, bypass, ...(queued && { queued }) };
  return { ...call, arrived_ms: at, ...unanswered };
}

function parseLine(raw: string): Line | null {
  try {
    return JSON.parse(raw) as Line;
  } catch {
    return null;
  }
}
