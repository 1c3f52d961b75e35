import { readFileSync } from 'node:fs';
import { Option, type Command } from 'commander';
import type { EnvelopeDraft } from '../protocol/envelope';
import { ReachError } from '../protocol/reach-error';
import type { JsonObject } from '../protocol/shapes';
import { parseJsonStrict } from '../protocol/strict-json';
import { UsageError } from './exit-codes';
import type { CliIo } from './io';
import { collectPair, parseDuration, parseWhole } from './parse';

/** The options behind {@link addEnvelopeOptions}, as commander hands them out. */
export interface EnvelopeOptions {
  payload: string;
  agent?: string;
  key?: string;
  timeout?: number;
  semantics?: EnvelopeDraft['delivery_semantics'];
  versionRange?: string;
  group?: string;
  type?: string;
  source?: string;
  context?: string;
  messageId?: string;
  maxRetries?: number;
  meta?: Record<string, string>;
  callback?: string;
  replyToTopic?: string;
  replyToWorkflow?: string;
  replyToSignal?: string;
}

/** Adds an option for every field of the envelope (R2). */
export function addEnvelopeOptions(command: Command): Command {
  return command
    .option('-p, --payload <json>', 'the payload: JSON, @FILE, or - for stdin', '{}')
    .option('--agent <name[#version]>', 'this agent instead of the best one')
    .option('--key <key>', 'idempotency key: the same key is the same reach')
    .option('--timeout <duration>', 'of the whole reach, such as 500ms, 30s or 5m', parseDuration)
    .addOption(
      new Option('--semantics <semantics>', 'what is promised about delivery').choices([
        'at_least_once',
        'at_most_once',
        'exactly_once',
      ]),
    )
    .option('--version-range <range>', "semver range of the agent's version")
    .option('--group <group>', 'canary group')
    .option('--type <type>', 'message type (default: task)')
    .option('--source <agent>', 'source agent, if you may speak for it')
    .option('--context <id>', 'shared context')
    .option('--message-id <id>', 'instead of a new one')
    .option('--max-retries <n>', 'retries of the whole tree below this reach', (text) => parseWhole(text, 0, 1_000))
    .option('--meta <key=value>', 'metadata; may be repeated', collectPair)
    .option('--callback <url>', 'post the end of the reach there, signed')
    .option('--reply-to-topic <topic>', 'publish the end of the reach')
    .option('--reply-to-workflow <id>', 'signal the end of the reach to this workflow, with --reply-to-signal')
    .option('--reply-to-signal <name>', 'the signal');
}

/** The envelope that the options describe. Throws {@link UsageError}. */
export async function readEnvelope(
  ability: string | undefined,
  options: EnvelopeOptions,
  io: CliIo,
): Promise<EnvelopeDraft> {
  if (ability === undefined && options.agent === undefined)
    throw new UsageError('name an ability, or an agent with --agent');
  const fields = {
    ability,
    target_agent: options.agent,
    payload: await readPayload(options.payload, io),
    idempotency_key: options.key,
    timeout_ms: options.timeout,
    delivery_semantics: options.semantics,
    version: options.versionRange,
    group: options.group,
    type: options.type,
    source_agent: options.source,
    context_id: options.context,
    message_id: options.messageId,
    max_total_retries: options.maxRetries,
    metadata: options.meta,
    callback: options.callback === undefined ? undefined : { url: options.callback },
    reply_to: replyToOf(options),
  };
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as EnvelopeDraft;
}

/** Whom else the end is told. Throws {@link UsageError} for half an address, or two. */
function replyToOf(options: EnvelopeOptions): EnvelopeDraft['reply_to'] {
  const { replyToTopic: topic, replyToWorkflow: workflow, replyToSignal: signal } = options;
  if ((workflow === undefined) !== (signal === undefined))
    throw new UsageError('--reply-to-workflow and --reply-to-signal go together');
  if (topic !== undefined && workflow !== undefined)
    throw new UsageError('the end is either published with --reply-to-topic or signalled with --reply-to-workflow');
  if (workflow !== undefined && signal !== undefined) return { workflow_id: workflow, signal };
  return topic === undefined ? undefined : { topic };
}

/** A payload from the command line: JSON, `@FILE` or `-`. Throws {@link UsageError} that says where the JSON is wrong. */
export async function readPayload(given: string, io: CliIo): Promise<JsonObject> {
  const { what, text } = await readText(given, io);
  try {
    const value = parseJsonStrict(text, { what });
    if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value;
  } catch (caught) {
    throw new UsageError(`${what}: ${ReachError.from(caught).message.replace(`${what} `, '')}`);
  }
  throw new UsageError(`${what} must hold a JSON object, such as '{"text":"hello"}'`);
}

/** What an option says: itself, `@FILE` or `-` for stdin; and what to call it. Throws {@link UsageError}. */
export async function readText(given: string, io: CliIo): Promise<{ what: string; text: string }> {
  if (given.startsWith('@')) return { what: given.slice(1), text: readFile(given.slice(1)) };
  return given === '-' ? { what: 'stdin', text: await io.readStdin() } : { what: '--payload', text: given };
}

function readFile(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    throw new UsageError(`the file ${path} cannot be read`);
  }
}
