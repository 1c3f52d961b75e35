import { ReachError } from '../protocol/reach-error';
import { normalizeVersion } from '../protocol/versions';
import { UsageError } from './exit-codes';

/** An agent as the command line names it: at one version where one is given, else all of its versions. */
export interface AgentRef {
  name: string;
  version?: string;
}

/**
 * `NAME` or `NAME#VERSION`, as tables print agents, taken apart. Names hold no `#`, so wherever an agent is named both may be
 * written.
 *
 * @throws UsageError for a version that is none, or a name that is empty
 */
export function parseAgentRef(text: string): AgentRef {
  const at = text.indexOf('#');
  const name = at < 0 ? text : text.slice(0, at);
  if (name === '') throw new UsageError('name an agent: NAME or NAME#VERSION, such as refund_agent#1.2.0');
  if (at < 0) return { name };
  const version = normalizeVersion(text.slice(at + 1));
  if (version !== null) return { name, version };
  throw new UsageError(
    `${text} is not NAME#VERSION with a full version, such as ${name}#1.2.0; or write ${name} alone`,
  );
}

/**
 * The same where the version may also be given by an option of its own.
 *
 * @throws UsageError when both name one, and not the same
 */
export function parseAgentAt(text: string, option: string | undefined): AgentRef {
  const ref = parseAgentRef(text);
  if (option === undefined) return ref;
  const version = normalizeVersion(option);
  if (version === null) throw new UsageError(`--agent-version ${option} is no full version, such as 1.2.0`);
  if (ref.version === undefined || ref.version === version) return { name: ref.name, version };
  throw new UsageError(`${text} and --agent-version ${option} name different versions; give one of them`);
}

/** The error for a version that an agent does not have. `available`: what there is; `what`: what was looked for, if not versions. */
export function noSuchVersion({ name, version }: AgentRef, available: readonly string[], what = 'version'): ReachError {
  const message = `There is no ${what} ${version} of ${name}; there is ${available.join(', ')}`;
  return new ReachError('version_not_found', `${message}. Leave the version out to mean them all`, {
    diagnosis: { reason: 'version_mismatch', message, available_versions: [...available] },
  });
}
