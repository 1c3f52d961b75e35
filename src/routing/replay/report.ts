import { setImmediate as breathe } from 'node:timers/promises';
import type { ReplayedChange, ReplayReport } from '../../protocol/decision-log';
import type { LoggedDecision } from '../../protocol/logged-decision';
import { compareText } from '../ability-index';
import { rounded } from '../score';
import type { PreparedChanges } from './changes';
import { Replayer, type Comparer, type Replayed } from './replay';

/** How a replay is run. */
export interface ReplayOptions {
  changes: PreparedChanges;
  /** Where texts can be compared anew. */
  compare?: Comparer;
  /** Changed decisions that are listed, the first so many; all are counted. */
  limit: number;
  /** Asked after each batch; a reason ends the replay with what it has. */
  cut?: () => string | undefined;
}

/** Decisions replayed at once: comparisons of theirs may share a request. */
const BATCH = 64;

/** Adds up what became of decisions, one after the other; keeps no decision but those it lists. */
class ReportMaker {
  private decisions = 0;
  private recomputed = 0;
  private changed = 0;
  private newlyRefused = 0;
  private newlyTaken = 0;
  private from: string | null = null;
  private to: string | null = null;
  private readonly unknown = new Map<string, number>();
  private readonly agents = new Map<string, { before: number; after: number }>();
  private readonly listed: ReplayedChange[] = [];
  private readonly scores = { count: 0, sum: 0, absolute: 0, greatest: 0 };

  constructor(private readonly limit: number) {}

  add(record: LoggedDecision, replayed: Replayed): void {
    const { at } = record;
    this.decisions += 1;
    if (this.from === null || at < this.from) this.from = at;
    if (this.to === null || at > this.to) this.to = at;
    if (replayed.kind === 'unknown') {
      this.unknown.set(replayed.reason, (this.unknown.get(replayed.reason) ?? 0) + 1);
      return;
    }
    this.recomputed += 1;
    this.countAgents(replayed);
    this.countScore(replayed);
    if (replayed.kind === 'changed') this.addChange(record, replayed);
  }

  private addChange({ decision_id, at, reach_id }: LoggedDecision, { before, after, agentAfter }: Known): void {
    this.changed += 1;
    if (agentAfter === null) this.newlyRefused += 1;
    else if (before.agent_name === null) this.newlyTaken += 1;
    if (this.listed.length >= this.limit) return;
    this.listed.push({ decision_id, at, ...(reach_id !== undefined && { reach_id }), before, after: after() });
  }

  private countAgents({ before, agentAfter }: Known): void {
    if (before.agent_name !== null) this.tally(`${before.agent_name}#${before.agent_version}`).before += 1;
    if (agentAfter) this.tally(`${agentAfter.agent_name}#${agentAfter.agent_version}`).after += 1;
  }

  private countScore({ before, agentAfter }: Known): void {
    if (before.score === null || agentAfter === null) return;
    const change = agentAfter.score - before.score;
    this.scores.count += 1;
    this.scores.sum += change;
    this.scores.absolute += Math.abs(change);
    this.scores.greatest = Math.max(this.scores.greatest, Math.abs(change));
  }

  private tally(agent: string): { before: number; after: number } {
    let tally = this.agents.get(agent);
    if (!tally) this.agents.set(agent, (tally = { before: 0, after: 0 }));
    return tally;
  }

  report(changes: PreparedChanges, cut: string | undefined): ReplayReport {
    const { count, sum, absolute, greatest } = this.scores;
    const reasons = [...this.unknown].map(([reason, times]) => ({ reason, count: times }));
    return {
      changes: changes.asked,
      decisions: this.decisions,
      from: this.from,
      to: this.to,
      recomputed: this.recomputed,
      changed: this.changed,
      newly_refused: this.newlyRefused,
      newly_taken: this.newlyTaken,
      not_recomputed: {
        count: this.decisions - this.recomputed,
        reasons: reasons.sort((a, b) => b.count - a.count || compareText(a.reason, b.reason)),
      },
      agents: this.shares(),
      score_change: {
        mean: rounded(count === 0 ? 0 : sum / count),
        mean_absolute: rounded(count === 0 ? 0 : absolute / count),
        max_absolute: rounded(greatest),
      },
      listed: this.listed,
      ...(cut !== undefined && { cut }),
    };
  }

  private shares(): ReplayReport['agents'] {
    const share = (n: number) => (this.recomputed === 0 ? 0 : rounded(n / this.recomputed));
    const moved = ({ before, after }: { before: number; after: number }) => Math.abs(after - before);
    return [...this.agents]
      .sort(([a, one], [b, other]) => moved(other) - moved(one) || other.before - one.before || compareText(a, b))
      .map(([agent, { before, after }]) => {
        const [agent_name = '', agent_version = ''] = agent.split('#');
        return { agent_name, agent_version, before, after, share_before: share(before), share_after: share(after) };
      });
  }
}

type Known = Exclude<Replayed, { kind: 'unknown' }>;

/** Replays decisions as they come, without keeping them. The same decisions and changes make the same report. */
export async function replayAll(
  decisions: AsyncIterable<LoggedDecision> | Iterable<LoggedDecision>,
  { changes, compare, limit, cut }: ReplayOptions,
): Promise<ReplayReport> {
  const replayer = new Replayer(changes, compare ?? null);
  const maker = new ReportMaker(limit);
  const finish = async (batch: readonly LoggedDecision[]) => {
    const replayed = await Promise.all(batch.map((record) => replayer.replay(record)));
    batch.forEach((record, i) => maker.add(record, replayed[i]!));
  };
  let batch: LoggedDecision[] = [];
  let reason: string | undefined;
  for await (const record of decisions) {
    batch.push(record);
    if (batch.length < BATCH) continue;
    await finish(batch);
    batch = [];
    await breathe();
    if ((reason = cut?.()) !== undefined) break;
  }
  await finish(batch);
  return maker.report(changes, reason ?? cut?.());
}
