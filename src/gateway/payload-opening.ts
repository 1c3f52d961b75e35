/** How much of a payload that came by reference a gateway has to see, and what was found out about the rest elsewhere. */
import type { Payloads } from '../payloads';
import type { EnvelopeInput } from '../protocol/envelope';
import type { CanonicalDigest } from '../protocol/identity';
import type { JsonSchema } from '../protocol/json-schema';
import { MAX_PAYLOAD_BYTES } from '../protocol/limits';
import { parsePayloadRef } from '../protocol/payload-ref';
import type { FieldError } from '../protocol/reach-error';
import { capabilityOf } from '../protocol/routed-target';
import type { JsonObject } from '../protocol/shapes';
import type { World } from '../protocol/world';

/** More schemas than this are not evaluated ahead: most would be for nothing. */
const MAX_SCHEMAS = 20;

/** By outline: what each schema, as JSON text, finds wrong with the whole payload. */
const findings = new WeakMap<JsonObject, ReadonlyMap<string, FieldError[]>>();

/** What is known of the payload that `outline` stands for; undefined when it is a payload itself. */
export function knownFindings(outline: object): ReadonlyMap<string, FieldError[]> | undefined {
  return findings.get(outline as JsonObject);
}

/**
 * The payload of a reference. Where its ability is named, the schemas are evaluated off the event loop and an outline is enough
 * to route by; else it is read whole. @throws ReachError `invalid_request` for a reference to nothing
 */
export async function openPayload(
  payloads: Pick<Payloads, 'open' | 'outline'>,
  input: EnvelopeInput & { payload_ref: string },
  world: World,
): Promise<{ payload: JsonObject; canonical: CanonicalDigest }> {
  const { payload_ref: ref } = input;
  // A payload that might have come in a body is told apart by its own JSON, so all of that must be here.
  const mayBeSmall = (parsePayloadRef(ref)?.bytes ?? 0) <= MAX_PAYLOAD_BYTES;
  const schemas = mayBeSmall ? null : schemasAsked(input, world);
  if (schemas === null) return payloads.open(ref);
  const { outline, canonical, found } = await payloads.outline(ref, [...schemas.values()]);
  if (canonical.bytes <= MAX_PAYLOAD_BYTES) return payloads.open(ref);
  findings.set(outline, new Map([...schemas.keys()].map((key, n) => [key, found[n] ?? []])));
  return { payload: outline, canonical };
}

/** The schemas that may be asked about, by their JSON text; null where more than an outline is needed. */
function schemasAsked({ ability }: EnvelopeInput, { agents }: World): Map<string, JsonSchema> | null {
  if (ability === undefined || ability === '*') return null;
  const schemas = new Map<string, JsonSchema>();
  for (const { descriptor } of agents) {
    const capability = capabilityOf(descriptor, ability);
    // The key may be anywhere in the payload, and long.
    if (capability?.idempotency_from !== undefined) return null;
    if (capability?.input_schema !== undefined)
      schemas.set(JSON.stringify(capability.input_schema), capability.input_schema);
  }
  return schemas.size > MAX_SCHEMAS ? null : schemas;
}
