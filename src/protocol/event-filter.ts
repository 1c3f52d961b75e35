/**
 * Filters over the attributes of events, after the dialects `exact`, `prefix` and `suffix` of the CNCF CloudEvents
 * Subscriptions API (1.0-rc, § 3.2.4). Pure.
 */
import { z } from 'zod';

/** Names of CloudEvents attributes (CloudEvents 1.0, § 3.1). */
export const ATTRIBUTE_NAME = /^[a-z0-9]{1,64}$/;

/** Attributes of an event by name, each as text: `true`, `42` and times as CloudEvents writes them. */
export type EventAttributes = Record<string, string> & { id: string; source: string; type: string };

const MAX_CONDITIONS = 16;
const DIALECTS = ['exact', 'prefix', 'suffix'] as const;
type Dialect = (typeof DIALECTS)[number];

const name = z.string().regex(ATTRIBUTE_NAME, 'must be the name of an attribute: lower-case letters and digits');
const conditions = z
  .record(name, z.string().min(1).max(512))
  .refine((value) => Object.keys(value).length > 0, 'must name an attribute');

/**
 * The filter of a subscription. Plain members must be equal: `{type: "order.created"}`; `exact`, `prefix` and `suffix`
 * hold such maps themselves. All must hold; an attribute that an event does not have fits nothing.
 */
export const eventFilterSchema = z
  .record(name, z.union([z.string().min(1).max(512), conditions]))
  .superRefine((filter, context) => {
    for (const [key, value] of Object.entries(filter)) {
      if (typeof value === 'string' || isDialect(key)) continue;
      const message = `must be text, or a map under one of ${DIALECTS.join(', ')}`;
      context.addIssue({ code: 'custom', path: [key], message });
    }
    if (flat(filter).length <= MAX_CONDITIONS) return;
    context.addIssue({ code: 'custom', message: `must not have more than ${MAX_CONDITIONS} conditions` });
  })
  .meta({
    description: 'Attribute by attribute: equal, or under `exact`, `prefix` or `suffix`. All must hold.',
    example: { type: 'order.created', prefix: { subject: 'eu/' } },
  });

/** Valid as names, but no event is looked at by them: its data is the payload, and every event is of version 1.0. */
const NOT_LOOKED_AT: ReadonlySet<string> = new Set(['data', 'specversion']);

/** The attributes of a filter that no event can have, as paths into it: such a filter would never let anything through. */
export function unmatchable(filter: EventFilter): string[][] {
  return Object.entries(filter).flatMap(([key, value]) => {
    const paths = typeof value === 'string' ? [[key]] : Object.keys(value).map((attribute) => [key, attribute]);
    return paths.filter((path) => NOT_LOOKED_AT.has(path.at(-1)!));
  });
}

/** As stored and shown. */
export type EventFilter = z.infer<typeof eventFilterSchema>;

interface Condition {
  dialect: Dialect;
  attribute: string;
  value: string;
}

const HOLDS: Record<Dialect, (found: string, wanted: string) => boolean> = {
  exact: (found, wanted) => found === wanted,
  prefix: (found, wanted) => found.startsWith(wanted),
  suffix: (found, wanted) => found.endsWith(wanted),
};

/** The filter as a predicate; without one everything fits. */
export function compileFilter(filter: EventFilter | undefined): (attributes: Record<string, string>) => boolean {
  const all = filter === undefined ? [] : flat(filter);
  return (attributes) =>
    all.every(({ dialect, attribute, value }) => {
      const found = Object.hasOwn(attributes, attribute) ? attributes[attribute] : undefined;
      return found !== undefined && HOLDS[dialect](found, value);
    });
}

function flat(filter: EventFilter): Condition[] {
  return Object.entries(filter).flatMap(([key, value]): Condition[] => {
    if (typeof value === 'string') return [{ dialect: 'exact', attribute: key, value }];
    const dialect = isDialect(key) ? key : 'exact';
    return Object.entries(value).map(([attribute, wanted]) => ({ dialect, attribute, value: wanted }));
  });
}

function isDialect(key: string): key is Dialect {
  return (DIALECTS as readonly string[]).includes(key);
}
