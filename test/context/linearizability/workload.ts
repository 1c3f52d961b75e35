/** Clients that get in each other's way on a few contexts: reads, compare-and-sets, appends, deletions, batches. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { ContextOperation } from '../../../src/protocol/context';
import type { Random } from '../../chaos/harness/random';
import type { Input, Output, Recorder, Subject } from './history';

/** What is to be done to whom. */
export interface Workload {
  recorder: Recorder;
  random: Random;
  contexts: readonly string[];
  clients: number;
  /** Of each client. */
  operations: number;
  /** Whom a client talks to. */
  subjectOf: (client: number) => Subject;
  /** Longest pause between two operations of a client, ms. */
  pauseMs?: number;
  /** Ends it early. */
  until?: () => boolean;
}

const REGISTERS = ['a', 'b', 'c'];
const LISTS = ['log', 'seen'];

/** Runs all clients to their end. */
export async function runWorkload(workload: Workload): Promise<void> {
  await Promise.all(Array.from({ length: workload.clients }, (_, client) => runClient(workload, client)));
}

async function runClient(workload: Workload, client: number): Promise<void> {
  const { recorder, random, contexts, operations, subjectOf, pauseMs = 0 } = workload;
  const hand = new Hand(random, client);
  for (let n = 0; n < operations && !workload.until?.(); n += 1) {
    const key = random.pick(contexts);
    const input = hand.input(key);
    hand.learn(key, input, await recorder.run(subjectOf(client), { client, key, input }));
    if (pauseMs > 0) await sleep(random.next() * pauseMs);
  }
}

/** What one client knows of versions, and what it does next. Most of what it writes is from what it saw last. */
class Hand {
  private readonly known = new Map<string, number>();
  private serial = 0;

  constructor(
    private readonly random: Random,
    private readonly client: number,
  ) {}

  input(key: string): Input {
    const draw = this.random.next();
    if (draw < 0.35) return { kind: 'get' };
    if (draw < 0.37) return { kind: 'delete' };
    const fields = [...REGISTERS, ...LISTS].filter(() => this.random.chance(draw < 0.75 ? 0 : 0.4));
    const chosen = fields.length > 0 ? fields : [this.random.pick([...REGISTERS, ...LISTS])];
    return { kind: 'patch', operations: chosen.map((field) => this.operation(key, field)) };
  }

  learn(key: string, input: Input, output: Output): void {
    if (output.kind === 'fields') {
      for (const field of [...REGISTERS, ...LISTS])
        this.known.set(`${key} ${field}`, output.fields[field]?.version ?? 0);
    } else if (output.kind === 'patched') {
      for (const [field, version] of Object.entries(output.versions)) this.known.set(`${key} ${field}`, version);
    } else if (output.kind === 'conflict') {
      for (const { field, current_version: version } of output.conflicts) this.known.set(`${key} ${field}`, version);
    } else if (output.kind === 'absent' || input.kind === 'delete') {
      for (const field of [...REGISTERS, ...LISTS]) this.known.set(`${key} ${field}`, 0);
    }
  }

  private operation(key: string, field: string): ContextOperation {
    const isList = LISTS.includes(field);
    const draw = this.random.next();
    this.serial += 1;
    const value = `${this.client}-${this.serial}`;
    if (isList && draw < 0.7) return { op: 'append', field, value };
    const guard = this.random.chance(0.1) ? { force: true } : { base_version: this.known.get(`${key} ${field}`) ?? 0 };
    if (draw > 0.88) return { op: 'delete', field, ...guard };
    return { op: 'set', field, value: isList ? [value] : value, ...guard };
  }
}
