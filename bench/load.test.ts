import { setTimeout as delay } from 'node:timers/promises';
import type { Contender } from './contenders';
import { sendAll, sendPaced, type BlockContext } from './load';

/** A contender that counts how often, and how often at once, it is called. */
class Counting implements Contender {
  readonly name = 'plain';
  calls = 0;
  most = 0;
  private now = 0;

  constructor(private readonly wrongAt = Number.POSITIVE_INFINITY) {}

  async call(): Promise<string> {
    this.calls += 1;
    this.now += 1;
    this.most = Math.max(this.most, this.now);
    const number = this.calls;
    await delay(2);
    this.now -= 1;
    if (number === this.wrongAt) throw new Error('wrong answer');
    return `call-${number}`;
  }
}

function blockContext(): BlockContext & { answers: number; controller: AbortController } {
  const controller = new AbortController();
  const context = { controller, signal: controller.signal, answers: 0, onAnswer: () => void (context.answers += 1) };
  return context;
}

describe('sendAll', () => {
  it('sends exactly as many as asked for, never more at once than allowed', async () => {
    const contender = new Counting();
    const context = blockContext();
    const block = await sendAll(contender, { requests: 50, concurrency: 7 }, context);
    expect(contender.calls).toBe(50);
    expect(contender.most).toBe(7);
    expect(context.answers).toBe(50);
    expect(block.latenciesMs).toHaveLength(50);
    expect(block.elapsedMs).toBeLessThan(block.latenciesMs.reduce((sum, ms) => sum + ms, 0));
  });

  it('sends one after the other at concurrency 1', async () => {
    const contender = new Counting();
    await sendAll(contender, { requests: 5, concurrency: 1 }, blockContext());
    expect(contender.most).toBe(1);
  });

  it('ends with the first wrong answer, after those under way', async () => {
    const contender = new Counting(10);
    await expect(sendAll(contender, { requests: 1_000, concurrency: 4 }, blockContext())).rejects.toThrow(
      'wrong answer',
    );
    expect(contender.calls).toBeLessThan(20);
  });

  it('stops when it is interrupted', async () => {
    const contender = new Counting();
    const context = blockContext();
    const sending = sendAll(contender, { requests: 1e6, concurrency: 4 }, context);
    context.controller.abort(new Error('interrupted'));
    await expect(sending).rejects.toThrow('interrupted');
    expect(contender.calls).toBeLessThan(10);
  });
});

describe('sendPaced', () => {
  it('thinks before each request, as long as the random numbers say', async () => {
    const contender = new Counting();
    const options = { requests: 3, thinkMs: { from: 10, to: 30 }, random: () => 0.5 };
    const block = await sendPaced(contender, options, blockContext());
    expect(block.latenciesMs).toHaveLength(3);
    expect(block.elapsedMs).toBeGreaterThanOrEqual(3 * 19);
    // Thinking is no part of the latency.
    expect(Math.min(...block.latenciesMs)).toBeLessThan(20);
  });

  it('stops when it is interrupted while thinking', async () => {
    const context = blockContext();
    const options = { requests: 3, thinkMs: { from: 60_000, to: 60_000 }, random: () => 0 };
    const sending = sendPaced(new Counting(), options, context);
    context.controller.abort();
    await expect(sending).rejects.toThrow();
  });
});
