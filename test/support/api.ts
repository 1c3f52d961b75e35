import { request, Agent, type Dispatcher } from 'undici';

/** An answer of the gateway as a test looks at it. */
export interface Answer {
  status: number;
  headers: Record<string, string>;
  /** The JSON body; `undefined` when there is none. Tests read it member by member, so its type is open. */
  // eslint-disable-next-line @typescript-eslint/no-explicit-any
  body: any;
  text: string;
  ms: number;
}

export interface Sent {
  headers?: Record<string, string>;
  signal?: AbortSignal;
}

/** Plain HTTP to one gateway: nothing is repeated, nothing interpreted. */
export class Api {
  readonly #agent = new Agent({ connections: 128 });

  constructor(
    readonly url: string,
    private readonly always: Record<string, string> = {},
  ) {}

  get(path: string, sent: Sent = {}): Promise<Answer> {
    return this.raw('GET', path, undefined, sent);
  }

  delete(path: string, sent: Sent = {}): Promise<Answer> {
    return this.raw('DELETE', path, undefined, sent);
  }

  post(path: string, body?: unknown, sent: Sent = {}): Promise<Answer> {
    return this.json('POST', path, body, sent);
  }

  put(path: string, body: unknown, sent: Sent = {}): Promise<Answer> {
    return this.json('PUT', path, body, sent);
  }

  /** `POST /v1/reaches`; waits for the end unless the headers say otherwise. */
  reach(envelope: object, headers: Record<string, string> = {}): Promise<Answer> {
    return this.post('/v1/reaches', { payload: {}, ...envelope }, { headers: { prefer: 'wait=30', ...headers } });
  }

  /** The view of a reach once it has ended. */
  ended(reachId: string): Promise<Answer> {
    return this.get(`/v1/reaches/${reachId}?wait=30`);
  }

  /** A request with exactly this body and these headers. */
  async raw(
    method: Dispatcher.HttpMethod | 'PROPFIND',
    path: string,
    body: string | Buffer | undefined,
    { headers = {}, signal }: Sent = {},
  ): Promise<Answer> {
    const started = performance.now();
    const answer = await request(this.url + path, {
      method: method as Dispatcher.HttpMethod,
      dispatcher: this.#agent,
      headers: { ...this.always, ...headers },
      ...(body !== undefined && { body }),
      ...(signal && { signal }),
      headersTimeout: 0,
      bodyTimeout: 0,
    });
    const text = await answer.body.text();
    const json = String(answer.headers['content-type'] ?? '').includes('json');
    const plain = Object.fromEntries(Object.entries(answer.headers).map(([name, value]) => [name, String(value)]));
    return {
      status: answer.statusCode,
      headers: plain,
      body: json && text ? JSON.parse(text) : undefined,
      text,
      ms: performance.now() - started,
    };
  }

  /** Closes the connections; requests that run are dropped. */
  close(): Promise<void> {
    return this.#agent.destroy();
  }

  private json(method: 'POST' | 'PUT', path: string, body: unknown, { headers, ...rest }: Sent): Promise<Answer> {
    return this.raw(method, path, body === undefined ? undefined : JSON.stringify(body), {
      ...rest,
      headers: { 'content-type': 'application/json', ...headers },
    });
  }
}
