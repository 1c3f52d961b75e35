import { Readable } from 'node:stream';
import { request, type Dispatcher } from 'undici';
import { assertUrlAllowed, type EgressPolicy } from '../../policy/egress';
import { isOverSize } from '../../policy/json-size';
import { parseRetryAfterMs, type FailedAttempt } from '../../policy/retry';
import { agentText } from '../../protocol/agent-text';
import { ReachError } from '../../protocol/reach-error';
import { parseJsonStrict } from '../../protocol/strict-json';
import type { AgentCall, JsonObject } from '../../protocol/shapes';
import type { Adapter, AdapterAnswer, AdapterContext, AdapterTarget } from '../adapter';
import { orAborted, tellingOfSend } from './sending';
import { codeForStatus, networkFailure } from './wire-codes';

/** What the HTTP adapter needs from its surroundings. */
export interface HttpAdapterOptions {
  dispatcher: Dispatcher;
  egress: EgressPolicy;
  /** Reads a token from the environment by name (`auth.token_env`); undefined when it is not set or not allowed. */
  readToken: (name: string) => string | undefined;
  /** Counts a request beside the dispatcher's new connections, so that reuse shows (R39). */
  onRequest?: (origin: string) => void;
  /** Wall clock for HTTP dates in `Retry-After`. */
  now?: () => Date;
}

/** Smaller bodies are gathered piece by piece, bytes. */
const GATHERED_BYTES = 1_048_576;
/** More of the body of a failure is not read, bytes. */
const EXPLAINED_BYTES = 65_536;

/** Speaks plain HTTP to push agents: one POST, one JSON answer, no retries, no redirects. */
export class HttpAdapter implements Adapter {
  readonly protocol = 'http' as const;

  constructor(private readonly options: HttpAdapterOptions) {}

  async invoke(call: AgentCall, target: AdapterTarget, context: AdapterContext): Promise<AdapterAnswer> {
    const url = assertUrlAllowed(target.instance.host ?? '', this.options.egress, `agent ${target.descriptor.name}`);
    const headers = this.headers(call, target, context);
    const deadline = AbortSignal.timeout(context.budgetMs);
    const signal = AbortSignal.any([context.signal, deadline]);
    this.options.onRequest?.(url.origin);
    let sent = false;
    try {
      const asked = request(url, {
        method: 'POST',
        ...bodyOf(call, headers, context),
        dispatcher: tellingOfSend(this.options.dispatcher, () => (sent = true)),
        signal,
        headersTimeout: 0,
        bodyTimeout: 0,
      });
      const response = await orAborted(asked, signal);
      const body = await bodyOfAnswer(response, context.maxResponseBytes);
      if (response.statusCode === 200 && body.length > (context.unreadAboveBytes ?? Infinity))
        return { kind: 'unread', content: body };
      return this.read(response, body, context.maxResponseBytes);
    } catch (caught) {
      throw this.classify(caught, { deadline, context, target, sent });
    }
  }

  async close(): Promise<void> {
    await this.options.dispatcher.close();
  }

  private headers(call: AgentCall, target: AdapterTarget, context: AdapterContext): Record<string, string> {
    return {
      'content-type': 'application/json',
      accept: 'application/json',
      traceparent: context.traceparent,
      'idempotency-key': headerSafe(call.idempotency_key),
      'x-reach-id': call.reach_id,
      'x-reach-deadline-ms': String(call.deadline_ms),
      'x-reach-token': context.reachToken,
      ...(call.bypass && { 'x-reach-bypass': '1' }),
      ...this.authorization(target),
    };
  }

  private authorization(target: AdapterTarget): Record<string, string> {
    const { auth, name } = target.descriptor;
    if (auth.type !== 'static_token') return {};
    const token = this.options.readToken(auth.token_env);
    if (token) return { authorization: `Bearer ${token}` };
    throw new ReachError(
      'agent_auth_unconfigured',
      `Agent ${name} needs the token in ${auth.token_env}, which is not set here; set it for the worker and allow it in security.token_env_allow`,
      { received: 'no' },
    );
  }

  private read(response: Dispatcher.ResponseData, body: Buffer, maxBytes: number): AdapterAnswer {
    const { statusCode } = response;
    if (statusCode !== 200 && statusCode !== 202) throw this.refusal(response, body);
    let parsed;
    try {
      parsed = parseJsonStrict(body);
    } catch (caught) {
      const deep = ReachError.from(caught).code === 'input_too_deep';
      const why = caught instanceof ReachError ? caught.message : 'not JSON';
      throw new ReachError(
        deep ? 'response_schema_mismatch' : 'agent_protocol_error',
        `The agent answered ${statusCode} with a body that cannot be read: ${why}`,
        { received: 'yes' },
      );
    }
    if (parsed === null || typeof parsed !== 'object' || Array.isArray(parsed)) {
      throw new ReachError('agent_protocol_error', 'The agent answered with JSON that is not an object', {
        received: 'yes',
      });
    }
    if (isOverSize(parsed, body.length, maxBytes)) throw tooLarge(maxBytes);
    if (statusCode === 200) return { kind: 'answer', output: parsed as JsonObject, bytes: body.length };
    if (parsed.accepted === true) return { kind: 'accepted' };
    throw new ReachError('agent_protocol_error', 'The agent answered 202 without {"accepted": true}', {
      received: 'yes',
    });
  }

  private refusal(response: Dispatcher.ResponseData, body: Buffer): ReachError {
    const code = codeForStatus(response.statusCode);
    const header = response.headers['retry-after'];
    const nowMs = (this.options.now?.() ?? new Date()).getTime();
    return new ReachError(code, `The agent answered ${response.statusCode}${excerpt(body)}`, {
      received: 'yes',
      retryAfterMs: parseRetryAfterMs(Array.isArray(header) ? header[0] : header, nowMs),
    });
  }

  private classify(
    caught: unknown,
    where: { deadline: AbortSignal; context: AdapterContext; target: AdapterTarget; sent: boolean },
  ): unknown {
    if (caught instanceof ReachError) return caught;
    if (where.context.signal.aborted) return caught;
    const { name } = where.target.descriptor;
    if (where.deadline.aborted && !where.sent) {
      return new ReachError(
        'agent_timeout',
        `There was no connection to agent ${name} within ${where.context.budgetMs} ms; it was not called`,
        { received: 'no', cause: caught },
      );
    }
    if (where.deadline.aborted) {
      return new ReachError(
        'agent_timeout',
        `Agent ${name} did not answer within ${where.context.budgetMs} ms; it may still have done the work`,
        { received: 'unknown', cause: caught },
      );
    }
    const { code, received, says } = networkFailure(errorCode(caught));
    return new ReachError(code, `Agent ${name} ${says}`, {
      received: (where.sent ? received : 'no') satisfies FailedAttempt['received'],
      cause: caught,
    });
  }
}

/** The call as JSON; a large payload is cut into its place as the bytes it is kept as. */
function bodyOf(
  call: AgentCall,
  headers: Record<string, string>,
  { payload }: AdapterContext,
): { headers: Record<string, string>; body: string | Readable } {
  if (!payload) return { headers, body: JSON.stringify(call) };
  const rest = { ...call, payload: undefined, payload_ref: undefined };
  const before = Buffer.from(`${JSON.stringify(rest).slice(0, -1)},"payload":`);
  const body = Readable.from(
    (async function* () {
      yield before;
      yield* await payload.stream();
      yield Buffer.from('}');
    })(),
    { objectMode: false },
  );
  return { headers: { ...headers, 'content-length': String(before.length + payload.bytes + 1) }, body };
}

/** A key as a header value; keys beyond printable ASCII are percent-encoded there (the body carries them as they are). */
function headerSafe(key: string): string {
  return /^[\x20-\x7e]+$/.test(key) ? key : encodeURIComponent(key);
}

/** An answer whole, within its limit; of anything else, which its status says enough of, the beginning. */
function bodyOfAnswer(response: Dispatcher.ResponseData, maxBytes: number): Promise<Buffer> {
  const { statusCode } = response;
  if (statusCode === 200 || statusCode === 202)
    return readCapped(response, statusCode === 200 ? maxBytes : Math.min(maxBytes, GATHERED_BYTES));
  return readBeginning(response, Math.min(maxBytes, EXPLAINED_BYTES));
}

/** What an agent says beyond this of why it failed is not read, and its connection is dropped. */
async function readBeginning(response: Dispatcher.ResponseData, maxBytes: number): Promise<Buffer> {
  const pieces: Buffer[] = [];
  let size = 0;
  for await (const piece of response.body as AsyncIterable<Buffer>) {
    pieces.push(piece);
    size += piece.length;
    // Leaving the loop destroys the body, and with it the connection.
    if (size > maxBytes) break;
  }
  return Buffer.concat(pieces, size).subarray(0, maxBytes);
}

/** Reads a body up to `maxBytes`; the connection is dropped as soon as one byte more arrives. */
async function readCapped(response: Dispatcher.ResponseData, maxBytes: number): Promise<Buffer> {
  const refuse = () => {
    response.body.destroy();
    return tooLarge(maxBytes);
  };
  const announced = Number(response.headers['content-length'] ?? 0);
  if (announced > maxBytes) throw refuse();
  // A large body is put together in the memory that it will have, not twice.
  const whole = announced > GATHERED_BYTES ? Buffer.from(new ArrayBuffer(announced)) : null;
  const pieces: Buffer[] = [];
  let size = 0;
  for await (const piece of response.body as AsyncIterable<Buffer>) {
    size += piece.length;
    if (size > maxBytes) throw refuse();
    if (whole) piece.copy(whole, size - piece.length);
    else pieces.push(piece);
  }
  return whole ?? Buffer.concat(pieces, size);
}

function tooLarge(maxBytes: number): ReachError {
  return new ReachError('agent_response_too_large', `The agent's answer is over ${maxBytes} bytes`, {
    received: 'yes',
    extra: { details: { limit_bytes: maxBytes } },
  });
}

/** The first 200 characters of an error body, printable only, for people reading the dead letter. */
function excerpt(body: Buffer): string {
  const text = agentText(body.subarray(0, 800).toString('utf8'), 200);
  return text ? `: ${text}` : '';
}

function errorCode(caught: unknown): string | undefined {
  const error = caught as { code?: unknown; cause?: { code?: unknown } };
  const code = error?.code ?? error?.cause?.code;
  return typeof code === 'string' ? code : undefined;
}
