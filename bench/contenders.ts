import { randomUUID } from 'node:crypto';
import type { Client } from '@temporalio/client';
import { Agent, request } from 'undici';
import { PLAIN_TASK_QUEUE, type PlainInput } from './plain/contract';
import { ABILITIES, type AbilityName } from './agents';
import { REQUEST_TEXTS } from './texts';

/** One way of getting an agent's answer. */
export interface Contender {
  name: ContenderName;
  /** Makes one call, checks the answer, and resolves with the id of its workflow. @throws WrongAnswerError */
  call(): Promise<string>;
}

/** `plain` is the yardstick; `reach` is for an ability declared idempotent, `regular` for one that is not. */
export const CONTENDERS = ['plain', 'reach', 'regular'] as const;
export type ContenderName = (typeof CONTENDERS)[number];

/** An answer that is not the one asked for: a benchmark of errors is worth nothing, so it ends here. */
export class WrongAnswerError extends Error {
  override readonly name = 'WrongAnswerError';
}

export interface ContenderOptions {
  client: Client;
  gatewayUrl: string;
  echoUrl: string;
}

/** The three contenders, called from this process: over gRPC and HTTP respectively, each with pooled connections. */
export class Callers {
  private readonly dispatcher = new Agent({ connections: 64, pipelining: 1 });
  private sent = 0;

  constructor(private readonly options: ContenderOptions) {}

  all(): Contender[] {
    return [
      { name: 'plain', call: () => this.callPlain() },
      { name: 'reach', call: () => this.callReach(ABILITIES.idempotent) },
      { name: 'regular', call: () => this.callReach(ABILITIES.regular) },
    ];
  }

  /** A reach whose caller takes a receipt and polls for the end; not raced, its history is counted. */
  async callForReceipt(): Promise<string> {
    const payload = this.nextPayload();
    const headers = { prefer: 'respond-async' };
    const receipt = await this.http('POST', '/v1/reaches', {
      headers,
      body: { ability: ABILITIES.idempotent, payload },
    });
    expect(receipt.status === 202, 'receipt', receipt);
    const id = String(receipt.body.reach_id);
    const end = await this.http('GET', `/v1/reaches/${id}?wait=10`);
    this.checkReach(end, payload);
    return id;
  }

  /** Asks who would get each text, so that the gateway has all vectors before anything is measured. */
  async warmTexts(onText: () => void): Promise<void> {
    for (const text of REQUEST_TEXTS) {
      for (const ability of Object.values(ABILITIES)) {
        const answer = await this.http('POST', '/v1/route', { body: { ability, payload: { text, n: 0 } } });
        const names = (answer.body.candidates as unknown[] | undefined)?.length ?? 0;
        expect(answer.status === 200 && names > 1, 'route', answer);
      }
      onText();
    }
  }

  async post(path: string, body: unknown): Promise<void> {
    const answer = await this.http('POST', path, { body });
    expect(answer.status === 200 || answer.status === 201, path, answer);
  }

  close(): Promise<void> {
    return this.dispatcher.close();
  }

  private async callPlain(): Promise<string> {
    const { client, echoUrl } = this.options;
    const payload = this.nextPayload();
    const workflowId = `plain-${randomUUID()}`;
    const input: PlainInput = { url: `${echoUrl}/plain`, payload };
    const output: unknown = await client.workflow.execute('plain', {
      workflowId,
      taskQueue: PLAIN_TASK_QUEUE,
      args: [input],
    });
    const { answer, n, agent } = output as Record<string, unknown>;
    expect(answer === payload.text && n === payload.n && agent === 'plain', 'plain', output);
    return workflowId;
  }

  /** A reach made for the call that `token` came with; for nobody's when it is null. */
  callForAnother(token: string | null): Promise<string> {
    return this.callReach(ABILITIES.idempotent, token === null ? {} : { 'x-reach-token': token });
  }

  /** Hands a message over, and waits for nothing. */
  async send(ability: string, more: object): Promise<void> {
    const body = { ability, mode: 'async', payload: {}, ...more };
    const answer = await this.http('POST', '/v1/reaches', { headers: { prefer: 'respond-async' }, body });
    expect(answer.status === 202, ability, answer);
  }

  private async callReach(ability: AbilityName, more: Record<string, string> = {}): Promise<string> {
    const payload = this.nextPayload();
    // As patient as the plain caller: by default a gateway answers with a receipt after two seconds.
    const headers = { prefer: 'wait=10', ...more };
    const answer = await this.http('POST', '/v1/reaches', { headers, body: { ability, payload } });
    this.checkReach(answer, payload);
    return String(answer.body.reach_id);
  }

  /** The right answer to this very request, from the very agent that the record names, at the first attempt. */
  private checkReach({ status, body }: HttpAnswer, payload: { text: string; n: number }): void {
    const said = (body.output ?? {}) as Record<string, unknown>;
    const right = said.answer === payload.text && said.n === payload.n && said.agent === body.agent_name;
    const once = body.attempts === 1;
    expect(status === 200 && body.status === 'completed' && right && once, 'reach', { status, body });
  }

  private nextPayload(): { text: string; n: number } {
    this.sent += 1;
    return { text: REQUEST_TEXTS[this.sent % REQUEST_TEXTS.length]!, n: this.sent };
  }

  private async http(
    method: 'GET' | 'POST',
    path: string,
    { headers = {}, body }: { headers?: Record<string, string>; body?: unknown } = {},
  ): Promise<HttpAnswer> {
    const response = await request(`${this.options.gatewayUrl}${path}`, {
      method,
      headers: { ...headers, ...(body !== undefined && { 'content-type': 'application/json' }) },
      ...(body !== undefined && { body: JSON.stringify(body) }),
      dispatcher: this.dispatcher,
    });
    return { status: response.statusCode, body: (await response.body.json()) as Record<string, unknown> };
  }
}

interface HttpAnswer {
  status: number;
  body: Record<string, unknown>;
}

function expect(right: boolean, what: string, seen: unknown): void {
  if (right) return;
  throw new WrongAnswerError(`Wrong answer (${what}): ${JSON.stringify(seen).slice(0, 1_000)}`);
}
