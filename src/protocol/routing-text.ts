/** The text of a request by which an agent is chosen (R17). */
import type { JsonSchema } from './schema-guard';
import type { Json, JsonObject } from './shapes';

/** Marks the properties of an input schema whose text tells what the request is about. */
const MARK = 'x-routing-text';
/** Embedding models read a few hundred words; the rest would be cut or blur the meaning. */
const MAX_CHARS = 2_000;

/**
 * The request's text: the values of the top-level properties that the input schema marks with
 * `x-routing-text: true`, else every string of the payload, nested ones too. In the payload's own order,
 * joined by line breaks, at most 2,000 characters (cut between characters). Ids and codes are not left
 * out: telling them from words is guesswork, and marking is there for those who need it.
 */
export function routingText(schema: JsonSchema | undefined, payload: JsonObject): string {
  const marked = markedProperties(schema).filter((name) => Object.hasOwn(payload, name));
  const sources: Json = marked.length > 0 ? marked.map((name) => payload[name]!) : payload;
  const parts: string[] = [];
  collect(sources, parts, { left: MAX_CHARS });
  return parts.join('\n');
}

function markedProperties(schema: JsonSchema | undefined): string[] {
  if (typeof schema !== 'object') return [];
  const { properties } = schema;
  if (properties === null || typeof properties !== 'object' || Array.isArray(properties)) return [];
  return Object.entries(properties).flatMap(([name, property]) => (isMarked(property) ? [name] : []));
}

function isMarked(property: Json): boolean {
  return property !== null && typeof property === 'object' && !Array.isArray(property) && property[MARK] === true;
}

/** Collects strings depth first until the room is used up. Depth is bounded by the parser. */
function collect(value: Json, parts: string[], room: { left: number }): void {
  if (room.left <= 0 || value === null) return;
  if (typeof value === 'string') {
    const text = value.trim();
    if (text === '') return;
    const cut = text.length > room.left ? wholeCharacters(text.slice(0, room.left)) : text;
    parts.push(cut);
    room.left -= text.length + 1;
  } else if (typeof value === 'object') {
    for (const item of Object.values(value)) collect(item, parts, room);
  }
}

/** Text that was cut anywhere, without a first half of a surrogate pair at its end. */
function wholeCharacters(text: string): string {
  return text.replace(/[\ud800-\udbff]$/, '');
}
