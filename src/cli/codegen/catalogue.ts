/** The catalogue as code is written from it: each ability once, in a stable order. */
import type { Json } from '../../protocol/shapes';
import type { AgentView } from '../../sdk/wire-types';

/** One ability of the catalogue. */
export interface CatalogueEntry {
  name: string;
  description: string;
  /** Undefined: anything, or agents that offer it differ. */
  input_schema?: Json;
  output_schema?: Json;
  /** Agents that offer it, sorted. */
  agents: string[];
}

/**
 * The abilities of all agents in the order of their names, whatever order the registry lists agents in. A description is
 * that of the first agent by name; schemas on which agents differ are left out, since no one type fits all of them.
 */
export function catalogueOf(agents: readonly AgentView[]): CatalogueEntry[] {
  const entries = new Map<string, CatalogueEntry & { inputs: Set<string>; outputs: Set<string> }>();
  const sorted = agents.toSorted((a, b) => compare(a.name, b.name));
  for (const { name: agent, versions } of sorted)
    for (const { descriptor } of versions)
      for (const { name, description, input_schema, output_schema } of descriptor.capabilities) {
        const entry = entries.get(name) ?? { name, description, agents: [], inputs: new Set(), outputs: new Set() };
        entry.description ||= description;
        if (!entry.agents.includes(agent)) entry.agents.push(agent);
        entry.inputs.add(JSON.stringify(input_schema ?? true));
        entry.outputs.add(JSON.stringify(output_schema ?? true));
        entries.set(name, entry);
      }
  return [...entries.values()]
    .sort((a, b) => compare(a.name, b.name))
    .map(({ inputs, outputs, ...entry }) => ({
      ...entry,
      ...agreed('input_schema', inputs),
      ...agreed('output_schema', outputs),
    }));
}

function agreed(key: 'input_schema' | 'output_schema', schemas: ReadonlySet<string>): Partial<CatalogueEntry> {
  const [only] = schemas;
  const schema = schemas.size === 1 && only !== undefined ? (JSON.parse(only) as Json) : true;
  return schema === true ? {} : { [key]: schema };
}

/** Code-unit order: the same on every machine. */
function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
