/**
 * Is there an order of all operations, each at some moment between its call and its return, in which a single context could
 * have given these answers? Herlihy and Wing, "Linearizability: a correctness condition for concurrent objects" (TOPLAS 1990).
 *
 * The search is Wing and Gong's ("Testing and verifying concurrent objects", JPDC 1993): take an operation that may be
 * next, because nothing that is left returned before it was called; see whether the model answers as was answered; go
 * on from there, or take it back. With Lowe's memoisation ("Testing for linearizability", CCPE 2017): a configuration, which is
 * what was taken and the state it led to, is never tried twice. Contexts are judged one by one (Horn and Kroening, "Faster
 * linearizability checking via P-compositionality", FORTE 2015).
 *
 * What answers tell of versions narrows it further ({@link infer}): versions only grow, so of the writes whose version is known
 * only the one with the smallest can be next.
 *
 * Operations without an answer return never: they may take effect at any time after their call, or not at all, which is the
 * same as after everything else. A read that may be next and changes nothing is next: whatever order there is, there is one
 * with the read there.
 */
import { createHash } from 'node:crypto';
import type { Operation } from './history';
import { infer, valueKey, versionOf, type Inference } from './inference';
import { EMPTY, fingerprint, step, type State } from './model';

/** What a check found. */
export type Verdict =
  | { linearizable: true; operations: number; configurations: number }
  | {
      linearizable: false;
      key: string;
      /** The longest order that was possible, as places in the recording. */
      longest: number[];
      /** What could not come next then. */
      stuck: Operation[];
      configurations: number;
    }
  | { linearizable: 'undecided'; key: string; configurations: number };

/** A history that takes more than this is given up on: that is no verdict, and fails whoever asked. */
const MAX_CONFIGURATIONS = 200_000;

/** Checks a recording; the first context that is at fault decides. */
export function checkLinearizable(operations: readonly Operation[]): Verdict {
  let configurations = 0;
  for (const [key, own] of groupByKey(operations)) {
    const verdict = checkOne(key, own);
    configurations += verdict.configurations;
    if (verdict.linearizable !== true) return { ...verdict, configurations };
  }
  return { linearizable: true, operations: operations.length, configurations };
}

/** First as if no write had happened of which nobody saw anything: mostly so it is, and an order without them is an order. */
function checkOne(key: string, operations: readonly Operation[]): Verdict {
  const inference = infer(operations);
  const verdict = new Search(key, inference, inference.unseen).run();
  if (verdict.linearizable === true || inference.unseen.size === 0) return verdict;
  return new Search(key, inference, new Set()).run();
}

function groupByKey(operations: readonly Operation[]): Map<string, Operation[]> {
  const groups = new Map<string, Operation[]>();
  for (const operation of operations) {
    const group = groups.get(operation.key);
    if (group === undefined) groups.set(operation.key, [operation]);
    else group.push(operation);
  }
  return groups;
}

/** A place of the search: what was taken to come here, and what else may be taken. */
interface Frame {
  state: State;
  /** Taken to reach this frame; null for the first. */
  took: Operation | null;
  candidates: Operation[];
  next: number;
}

class Search {
  /** By the time of their call. */
  private readonly answered: Operation[];
  private readonly unanswered: Operation[];
  private readonly taken = new Set<Operation>();
  private readonly seen = new Set<string>();
  /** All answered ones before this were taken. */
  private first = 0;
  private longest: number[] = [];
  private stuck: Operation[] = [];

  /** Writes by version, and how many of them were taken. */
  private nextVersion = 0;

  constructor(
    private readonly key: string,
    private readonly inference: Inference,
    leftOut: ReadonlySet<Operation>,
  ) {
    const byCall = [...inference.operations].sort((a, b) => a.call - b.call || a.return - b.return);
    this.answered = byCall.filter((operation) => operation.return < Number.POSITIVE_INFINITY);
    this.unanswered = byCall.filter(
      (operation) => operation.return === Number.POSITIVE_INFINITY && !leftOut.has(operation),
    );
  }

  run(): Verdict {
    const path: Frame[] = [this.frame(EMPTY, null)];
    while (this.first < this.answered.length) {
      const frame = path.at(-1)!;
      const candidate = frame.candidates[frame.next];
      if (candidate === undefined) {
        if (frame.took === null) return this.failed();
        path.pop();
        this.release(frame.took);
        continue;
      }
      frame.next += 1;
      const state = this.tryNext(frame, candidate);
      if (this.seen.size > MAX_CONFIGURATIONS)
        return { linearizable: 'undecided', key: this.key, configurations: this.seen.size };
      if (state === null) continue;
      path.push(this.frame(state, candidate));
      this.remember(path);
    }
    const operations = this.answered.length + this.unanswered.length;
    return { linearizable: true, operations, configurations: this.seen.size };
  }

  /** Takes an operation if the model answers so and this configuration is new. */
  private tryNext(frame: Frame, operation: Operation): State | null {
    if (!this.mayBeNext(frame.state, operation)) return null;
    const state = step(frame.state, operation.input, operation.output);
    if (state === null) return null;
    if (state === frame.state) {
      // A write without an answer that changes nothing here may as well come last; an answered one may as well come now.
      if (operation.output.kind === 'unknown') return null;
      frame.next = frame.candidates.length;
    }
    this.take(operation);
    const configuration = this.configuration(state);
    if (!this.seen.has(configuration)) {
      this.seen.add(configuration);
      return state;
    }
    this.release(operation);
    return null;
  }

  /** Whether versions and the order of lists, as they were seen by anybody, allow it here. */
  private mayBeNext(state: State, operation: Operation): boolean {
    const { byVersion, before } = this.inference;
    if (versionOf(operation) !== null && byVersion[this.nextVersion] !== operation) return false;
    if (operation.input.kind !== 'patch' || operation.output.kind === 'conflict') return true;
    return operation.input.operations.every((each) => {
      if (each.op !== 'append') return true;
      const previous = before.get(valueKey(each.field, JSON.stringify(each.value)));
      const list = state.fields.get(each.field)?.text ?? '[]';
      return previous === undefined || (previous === null ? list === '[]' : list.endsWith(`${previous}]`));
    });
  }

  private take(operation: Operation): void {
    this.taken.add(operation);
    if (versionOf(operation) !== null) this.nextVersion += 1;
    while (this.first < this.answered.length && this.taken.has(this.answered[this.first]!)) this.first += 1;
  }

  private release(operation: Operation): void {
    this.taken.delete(operation);
    if (versionOf(operation) !== null) this.nextVersion -= 1;
    while (this.first > 0 && !this.taken.has(this.answered[this.first - 1]!)) this.first -= 1;
    const place = this.answered.indexOf(operation);
    if (place >= 0) this.first = Math.min(this.first, place);
  }

  /**
   * What may be next: whatever was called before the first of the rest returned. Answered ones come first, the earliest to return
   * before the others, since most of the unanswered never happened.
   */
  private frame(state: State, took: Operation | null): Frame {
    let earliest = Number.POSITIVE_INFINITY;
    const candidates: Operation[] = [];
    for (let place = this.first; place < this.answered.length; place += 1) {
      const operation = this.answered[place]!;
      if (operation.call > earliest) break;
      if (this.taken.has(operation)) continue;
      candidates.push(operation);
      earliest = Math.min(earliest, operation.return);
    }
    candidates.sort((a, b) => a.return - b.return);
    const maybe = this.unanswered.filter((operation) => operation.call <= earliest && !this.taken.has(operation));
    return { state, took, candidates: [...candidates, ...maybe], next: 0 };
  }

  /** Few are taken beyond the ones all taken: at most as many as there are clients. */
  private configuration(state: State): string {
    const beyond: number[] = [];
    const most = this.taken.size;
    for (let place = this.first; place < this.answered.length && beyond.length < most; place += 1) {
      if (this.answered[place]!.call > this.answered[this.first]!.return) break;
      if (this.taken.has(this.answered[place]!)) beyond.push(place);
    }
    const happened = this.unanswered.flatMap((operation, place) => (this.taken.has(operation) ? [place] : []));
    const text = `${this.first}:${beyond.join(',')}:${happened.join(',')}|${fingerprint(state)}`;
    return createHash('sha1').update(text).digest('base64');
  }

  private remember(path: readonly Frame[]): void {
    if (path.length - 1 <= this.longest.length) return;
    this.longest = path.slice(1).map(({ took }) => took!.op);
    this.stuck = path.at(-1)!.candidates;
  }

  private failed(): Verdict {
    const { key, longest, stuck } = this;
    return { linearizable: false, key, longest, stuck, configurations: this.seen.size };
  }
}
