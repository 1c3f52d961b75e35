import type { WorkflowExecutionDescription } from '@temporalio/client';
import type { Envelope } from '../protocol/envelope';
import { linkOf, type Inheritance, type Lineage } from '../protocol/lineage';
import { DEFAULT_MAX_TOTAL_RETRIES } from '../protocol/limits';
import { ReachError } from '../protocol/reach-error';
import type { ReachTokens } from '../protocol/reach-token';
import type { ReachMemo } from '../../workflows/messages';
import { noteBeside, type Joining, type LocalCall } from './nested-note';
import type { ReachReader } from './reach-reader';
import { currentAttempt } from './reach-view';

/** How an agent's own reach names the call that it is made for. */
export interface ParentHeaders {
  /** `X-Reach-Token` of the call. */
  token?: string;
  /** `X-Reach-Parent: REACH_ID/RUN_ID` of agents that pull, whose calls hold no token; needs an API key. */
  parent?: string;
  /** `X-Reach-Deadline-Ms`: what the agent has left by its own clock. */
  deadlineMs?: string;
}

/** The call that a nested reach is made for. */
export interface ParentCall {
  inheritance: Inheritance;
  /** The attempt whose token was shown; null for agents that pull, which name their run only. */
  attempt: number | null;
  /** What is left of the reach at most, ms: an agent that accepted may use it all. */
  reachMs: number;
  /** What is left of the attempt, ms, for one that answers while it is waited for; null where its agent says it itself. */
  attemptMs: number | null;
}

interface NestingOptions {
  tokens: ReachTokens;
  reader: Pick<ReachReader, 'describe'>;
  tree: { join(joining: Joining): Promise<{ retriesUsed: number }> };
  /** The calls of this process's own worker, if it has one. */
  callsUnderWay?: { has(call: LocalCall): boolean };
  /** Cancels a reach that was started for a parent that is cancelled. */
  cancel: (reachId: string) => Promise<unknown>;
  /** `nesting.max_depth` */
  maxDepth: number;
}

/** A reach that may start as the child of another. */
export interface Joined {
  envelope: Envelope;
  lineage: Lineage;
  /**
   * Set where the child is noted while it starts: to be called once it has. It waits for the note, and cancels the child when its
   * parent was cancelled meanwhile. @throws ReachError `reach_terminal`
   */
  started?: () => Promise<void>;
}

/**
 * Nested reaches (R10): what an agent's own reach inherits from the call that it is made for (deadline, retries, trace, context,
 * ancestry), and that a chain ends: by depth here, by loops in routing, both before anything is asked or started.
 */
export class Nesting {
  constructor(private readonly options: NestingOptions) {}

  /**
   * The call that a request is made for; null for one that nobody's call stands behind.
   *
   * @throws ReachError `unauthorized`, `invalid_request`, `reach_terminal`, `delegation_loop` (too deep), `deadline_exceeded`
   */
  async parentOf(headers: ParentHeaders): Promise<ParentCall | null> {
    const call = await this.callOf(headers);
    if (call === null) return null;
    const { chain } = call.inheritance;
    const { maxDepth } = this.options;
    if (chain.length >= maxDepth) {
      const advice = 'let an agent above do the work, or raise nesting.max_depth';
      const message = `Reaches may be nested ${maxDepth} deep, and this one would be the next: ${chain.join(' → ')}; ${advice}`;
      throw new ReachError('delegation_loop', message, { diagnosis: { reason: 'delegation_loop', message, advice } });
    }
    if (call.reachMs < 1)
      throw new ReachError(
        'deadline_exceeded',
        'The call that this reach is made for has no time left; nothing was started',
      );
    return call;
  }

  /**
   * Notes the reach as a child of its parent, which must still run, and holds it to what is left of the tree's retries.
   *
   * @throws ReachError `reach_terminal`, `engine_unavailable`
   */
  async join(parent: ParentCall, child: string, envelope: Envelope): Promise<Joined> {
    const { root, tree, parent: parentId, parent_run, chain } = parent.inheritance;
    const joining = { parent: parentId, child, tree, ttlMs: envelope.timeout_ms };
    const local = this.localCall(parent);
    const { retriesUsed, accepted, started } = local
      ? this.joinBeside(joining, local)
      : await this.joinBefore(joining, parent);
    const leftMs = accepted ? null : parent.attemptMs;
    const timeout_ms = Math.max(1, Math.floor(Math.min(envelope.timeout_ms, leftMs ?? Infinity)));
    const max_total_retries = Math.max(0, Math.min(envelope.max_total_retries, tree.limit - retriesUsed));
    return {
      envelope: { ...envelope, timeout_ms, max_total_retries },
      lineage: { root, tree, parent: parentId, parent_run, chain },
      ...(started && { started }),
    };
  }

  /**
   * Its agent has not answered yet, so it has not accepted either. How many retries the tree has made is not asked: each further one
   * is counted against its limit when it is taken.
   */
  private joinBeside(joining: Joining, call: LocalCall) {
    const { tree, reader, callsUnderWay, cancel } = this.options;
    const late = () => void cancel(joining.child).catch(() => undefined);
    const noted = noteBeside({ tree, reader, callsUnderWay: callsUnderWay! }, { joining, call, late });
    const started = async () => {
      if (!(await noted).cancelled) return;
      await cancel(joining.child).catch(() => undefined);
      throw new ReachError('reach_terminal', 'The call that this is for was cancelled; so is what was begun for it');
    };
    return { retriesUsed: 0, accepted: false, started };
  }

  /** Noted before the parent is looked at: a cancellation that comes after the look finds the note. */
  private async joinBefore(joining: Joining, parent: ParentCall) {
    const { retriesUsed } = await this.options.tree.join(joining);
    return { retriesUsed, ...(await this.confirm(parent)), started: undefined };
  }

  private localCall({ inheritance, attempt }: Pick<ParentCall, 'inheritance' | 'attempt'>): LocalCall | null {
    if (attempt === null) return null;
    const call = { runId: inheritance.parent_run, attempt };
    return this.options.callsUnderWay?.has(call) ? call : null;
  }

  /**
   * Looks at the call itself, which must still be worked on by this very attempt.
   *
   * @returns whether its agent has accepted it, and delivers later
   * @throws ReachError `reach_terminal`
   */
  async confirm({ inheritance, attempt }: Pick<ParentCall, 'inheritance' | 'attempt'>): Promise<{ accepted: boolean }> {
    if (this.localCall({ inheritance, attempt })) return { accepted: false };
    const description = await this.options.reader.describe(inheritance.parent);
    assertOpen(description, { runId: inheritance.parent_run, attempt });
    return { accepted: (description.memo as ReachMemo).accepted_attempt === attempt };
  }

  private async callOf({ token, parent, deadlineMs }: ParentHeaders): Promise<ParentCall | null> {
    const told = readDeadline(deadlineMs);
    if (token !== undefined) {
      const { nested, attempt } = await this.options.tokens.verify(token);
      if (nested === null)
        throw new ReachError('unauthorized', 'This reach token is of an earlier release; it opens no nested reaches');
      const { inheritance, budgetMs, issuedMs, reachMs = budgetMs } = nested;
      const ageMs = ageOf(issuedMs, reachMs);
      return {
        inheritance,
        attempt,
        reachMs: Math.min(told ?? Infinity, reachMs - ageMs),
        attemptMs: told === null ? Math.max(1, budgetMs - ageMs) : null,
      };
    }
    if (parent === undefined) return null;
    const [reachId = '', runId = ''] = parent.split('/');
    const description = await this.options.reader.describe(reachId);
    assertOpen(description, { runId, attempt: null });
    const { timeout_ms: reachMs } = description.memo as ReachMemo;
    const leftMs = reachMs - ageOf(description.startTime.getTime(), reachMs);
    return {
      inheritance: inheritanceOf(description),
      attempt: null,
      reachMs: Math.min(told ?? Infinity, leftMs),
      attemptMs: null,
    };
  }
}

/** What a nested envelope may say at most; the rest it inherits. @throws ReachError `forbidden` for another's name */
export function inherit(envelope: Envelope, asked: { source_agent?: string }, call: ParentCall): Envelope {
  const { inheritance, reachMs } = call;
  const { agent_name: agent, context_id, group } = inheritance;
  if (asked.source_agent !== undefined && asked.source_agent !== agent) {
    throw new ReachError(
      'forbidden',
      `This reach is made for a call to ${agent}; it cannot be sent by ${asked.source_agent}`,
      {
        errors: [{ pointer: '/source_agent', message: `must be ${agent}`, fix: 'leave it out' }],
      },
    );
  }
  const context = envelope.context_id ?? context_id ?? undefined;
  return {
    ...envelope,
    source_agent: agent,
    timeout_ms: Math.max(1, Math.floor(Math.min(envelope.timeout_ms, reachMs))),
    group: envelope.group === 'default' ? group : envelope.group,
    ...(context !== undefined && { context_id: context }),
  };
}

/**
 * How long something of `lengthMs` has lasted, by the clock. Clocks of hosts may differ: an age that cannot be, since it would be
 * over or not yet begun, says nothing, and the parent's own end still ends what it started.
 */
function ageOf(sinceMs: number, lengthMs: number): number {
  const ageMs = new Date().getTime() - sinceMs;
  return ageMs >= 0 && ageMs < lengthMs ? ageMs : 0;
}

function readDeadline(text: string | undefined): number | null {
  if (text === undefined) return null;
  if (/^\d{1,10}$/.test(text)) return Number(text);
  throw new ReachError('invalid_request', 'X-Reach-Deadline-Ms must be whole milliseconds: what your call has left', {
    errors: [{ pointer: '/timeout_ms', message: 'is not valid in the X-Reach-Deadline-Ms header' }],
  });
}

/**
 * Holds that a call is still worked on: its reach runs, in this run, is not being cancelled, and has not gone on to another attempt.
 *
 * @throws ReachError `reach_terminal`
 */
export function assertOpen(
  description: WorkflowExecutionDescription,
  { runId, attempt }: { runId: string; attempt: number | null },
): void {
  const { status, raw } = description;
  const cancelling = Boolean(raw.workflowExtendedInfo?.cancelRequested);
  const runs = status.name === 'RUNNING' && description.runId === runId && !cancelling;
  if (runs && (attempt === null || attempt >= currentAttempt(description))) return;
  const how = cancelling
    ? 'is being cancelled'
    : runs
      ? 'has gone on without this attempt'
      : 'is over or was begun anew';
  throw new ReachError('reach_terminal', `The call that this is for ${how}; nothing was done`);
}

/** As a token would have it, from the parent's own record. */
function inheritanceOf({ workflowId, runId, startTime, memo, raw }: WorkflowExecutionDescription): Inheritance {
  const { lineage, max_total_retries, timeout_ms, agent_name, ability, trace_id, context_id, group } =
    memo as ReachMemo;
  const firstRun = raw.workflowExecutionInfo?.firstRunId;
  const limit = max_total_retries ?? DEFAULT_MAX_TOTAL_RETRIES;
  const inTree = lineage && (!firstRun || firstRun === runId);
  return {
    root: lineage?.root ?? workflowId,
    tree: inTree ? lineage.tree : { run: runId, limit, ends_ms: startTime.getTime() + timeout_ms },
    parent: workflowId,
    parent_run: runId,
    chain: [...(lineage?.chain ?? []), linkOf(agent_name, ability)],
    agent_name,
    trace_id,
    context_id: context_id ?? null,
    group: group ?? 'default',
  };
}
