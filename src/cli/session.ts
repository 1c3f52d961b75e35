import { readFileSync } from 'node:fs';
import type { Command } from 'commander';
import { AgentReachClient } from '../sdk/client';
import { EXIT, UsageError } from './exit-codes';
import type { CliIo } from './io';
import { jsonText, printableAnswers } from './printable';

const DEFAULT_URL = 'http://127.0.0.1:8080';
/** People do not wait for ten repeats to hear that nobody listens. */
const MAX_RETRIES = 2;

/** Options that every command takes. */
export interface GlobalOptions {
  url?: string;
  apiKey?: string;
  json?: boolean;
  config?: string;
}

/** What a command works with. */
export interface Session {
  /** Without `json`, what it answers is safe to print; with it, exact. */
  client: AgentReachClient;
  io: CliIo;
  json: boolean;
  url: string;
  /** Set by a command that ends badly without an error. */
  exitCode: number;
  /** Prints a result: JSON with `--json`, else what `human` says. */
  print(value: unknown, human: () => string): void;
}

/** What the program hands to each command. */
export interface CliContext {
  io: CliIo;
  /** Runs `work` with a client for the command's options and keeps its exit code. */
  run(command: Command, work: (session: Session) => Promise<void>): Promise<void>;
}

/** Makes the session of one command; the client is closed when `work` is over. */
export async function withSession(
  command: Command,
  io: CliIo,
  work: (session: Session) => Promise<void>,
): Promise<number> {
  const options = command.optsWithGlobals<GlobalOptions>();
  const url = await urlOf(options, io);
  const apiKey = options.apiKey ?? io.env.AGENT_REACH_API_KEY;
  const client = new AgentReachClient({ url, apiKey: apiKey || undefined, maxRetries: MAX_RETRIES });
  const json = options.json === true;
  const print = (value: unknown, human: () => string) => io.out(json ? `${jsonText(value)}\n` : `${human()}\n`);
  const session: Session = {
    client: json ? client : printableAnswers(client),
    io,
    json,
    url,
    exitCode: EXIT.ok,
    print,
  };
  try {
    await work(session);
    return session.exitCode;
  } finally {
    await client.close();
  }
}

/** The gateway's URL, checked. Throws {@link UsageError} that says where a bad one came from. */
async function urlOf({ url, config }: GlobalOptions, io: CliIo): Promise<string> {
  if (url !== undefined) return checkUrl(url, '--url');
  if (io.env.AGENT_REACH_URL) return checkUrl(io.env.AGENT_REACH_URL, 'AGENT_REACH_URL');
  return config === undefined ? DEFAULT_URL : checkUrl(await urlFromConfig(config, io), config);
}

function checkUrl(url: string, origin: string): string {
  const protocol = URL.canParse(url) ? new URL(url).protocol : undefined;
  if (protocol === 'http:' || protocol === 'https:') return url;
  throw new UsageError(`${origin} must name the gateway by an http(s) URL such as ${DEFAULT_URL}; it is "${url}"`);
}

/** Where the gateway of this configuration listens. */
async function urlFromConfig(file: string, io: CliIo): Promise<string> {
  const { loadConfig } = await import('../config');
  const { server } = loadConfig({ text: readConfig(file), fileName: file, env: io.env });
  return server.public_url ?? `http://${reachableHost(server.host)}:${server.port}`;
}

/** The host to call a server by that listens on `host`: all interfaces include loopback, and IPv6 takes brackets in URLs. */
function reachableHost(host: string): string {
  const named = host === '0.0.0.0' ? '127.0.0.1' : host === '::' ? '::1' : host;
  return named.includes(':') ? `[${named}]` : named;
}

function readConfig(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    throw new UsageError(`the configuration ${file} cannot be read`);
  }
}
