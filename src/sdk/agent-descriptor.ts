import { readFileSync } from 'node:fs';
import type { Descriptor, DescriptorDraft } from '../protocol/descriptor';
import { checkDescriptor, parseDescriptor } from '../protocol/descriptor-loader';
import { ReachError, type FieldError } from '../protocol/reach-error';
import { findingsError } from '../protocol/validation';
import { isJsonText } from './json-text';

/** A descriptor as the agent works with it, and as it goes to the gateway. */
export interface AgentDescriptor {
  descriptor: Descriptor;
  /** The file's text as it stands, so that the gateway sees what was written; or the object. */
  source: string | DescriptorDraft;
}

const SERVED: ReadonlySet<string> = new Set(['worker', 'http', 'mq']);

/**
 * Loads a descriptor from an object or a YAML/JSON file and checks it against its handlers, by the gateway's own rules:
 * an agent fails at its own start. Throws `invalid_descriptor` and its kin with findings by pointer.
 */
export function loadDescriptor(given: DescriptorDraft | string, abilities: readonly string[]): AgentDescriptor {
  const source = typeof given === 'string' ? readText(given) : given;
  const { descriptor } =
    typeof source === 'string'
      ? parseDescriptor(source, isJsonText(source) ? 'json' : 'yaml')
      : checkDescriptor(source);
  const findings = handlerFindings(descriptor, abilities);
  if (findings.length > 0) throw findingsError(findings, { code: 'invalid_descriptor' });
  if (!SERVED.has(descriptor.endpoint?.protocol ?? '')) {
    throw new ReachError(
      'invalid_descriptor',
      'A ReachAgent serves `endpoint: {protocol: worker}`, `{protocol: http}` or `{protocol: mq}`; set one of them',
    );
  }
  return { descriptor, source };
}

function readText(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch (cause) {
    throw new ReachError('invalid_descriptor', `The descriptor file ${path} cannot be read; check the path`, { cause });
  }
}

function handlerFindings(descriptor: Descriptor, abilities: readonly string[]): FieldError[] {
  const offered = descriptor.capabilities.map((capability) => capability.name);
  const missing = offered.flatMap((name, index) =>
    abilities.includes(name)
      ? []
      : [{ pointer: `/capabilities/${index}`, message: `has no handler: \`${name}\``, fix: 'add it to handlers' }],
  );
  const surplus = abilities
    .filter((name) => !offered.includes(name))
    .map((name) => ({
      pointer: '/capabilities',
      message: `lacks \`${name}\`, for which there is a handler`,
      fix: 'add the ability or drop the handler',
    }));
  return [...missing, ...surplus];
}
