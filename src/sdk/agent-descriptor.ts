import { readFileSync } from 'node:fs';
import { descriptorSchema, type Descriptor, type DescriptorDraft } from '../protocol/descriptor';
import { ReachError, type FieldError } from '../protocol/reach-error';
import { findingsError, validate, type ValidateOptions } from '../protocol/validation';
import { parseYaml } from '../protocol/yaml-document';

/** A descriptor as the agent works with it, and as it goes to the gateway. */
export interface LoadedDescriptor {
  descriptor: Descriptor;
  /** The file's text as it stands, so that the gateway sees what was written; or the object. */
  source: string | DescriptorDraft;
}

/**
 * Loads a descriptor from an object or a YAML/JSON file and checks it against its handlers. The gateway checks again and
 * more: this is so that an agent fails at its own start. Throws `invalid_descriptor` with findings by pointer.
 */
export function loadDescriptor(given: DescriptorDraft | string, abilities: readonly string[]): LoadedDescriptor {
  const source = typeof given === 'string' ? readText(given) : given;
  const descriptor = parseSource(source, typeof given === 'string' ? given : 'the descriptor');
  const findings = handlerFindings(descriptor, abilities);
  if (findings.length > 0) throw findingsError(findings, { code: 'invalid_descriptor' });
  return { descriptor, source };
}

function parseSource(source: string | DescriptorDraft, what: string): Descriptor {
  const options: ValidateOptions = { code: 'invalid_descriptor', what };
  if (typeof source !== 'string') return validate(descriptorSchema, source, options);
  const { value, findings } = parseYaml(source, { what });
  return validate(descriptorSchema, value, { ...options, yaml: true, before: findings });
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
    abilities.includes(name) ? [] : [{ pointer: `/capabilities/${index}`, message: `has no handler: \`${name}\``, fix: 'add it to handlers' }],
  );
  const surplus = abilities
    .filter((name) => !offered.includes(name))
    .map((name) => ({ pointer: '/capabilities', message: `lacks \`${name}\`, for which there is a handler`, fix: 'add the ability or drop the handler' }));
  return [...missing, ...surplus];
}
