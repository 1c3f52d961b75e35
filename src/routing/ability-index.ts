import type { Capability, Descriptor } from '../protocol/descriptor';
import type { AbilityText } from '../protocol/matching';
import type { BreakerKey } from '../protocol/reliability';
import type { AgentVersion, World } from '../protocol/world';
import { compareVersionsDescending } from '../protocol/versions';

/** Marks the properties of an input schema that say what a request is about. */
const ROUTING_TEXT_KEYWORD = '"x-routing-text"';

/** An input schema; offers with equal schemas share one, so that a payload is validated once for all of them. */
export interface SharedSchema {
  /** Absent when anything is accepted. */
  document: Capability['input_schema'];
  /** Whether it says which properties carry the request's text. */
  marksText: boolean;
}

/** One ability of one version of an agent. */
export interface Offer {
  /** Its place among all offers of the index, from 0. */
  position: number;
  /** Position of the agent in {@link AbilityIndex.agents}: its instances change, the offer does not. */
  slot: number;
  agentName: string;
  agentVersion: string;
  capability: Capability;
  text: AbilityText;
  schema: SharedSchema;
  /** Whom its breaker guards; made once, so that asking the breaker makes nothing. */
  breakerKey: Readonly<BreakerKey>;
  /** The same ability in all versions of the agent, best version first; null when there is just this one. */
  siblings: Offer[] | null;
  /** The agent has just this version. */
  onlyVersion: boolean;
}

/** Offers that are looked at together, with the texts to compare, each once. The arrays never change. */
export interface OfferGroup {
  offers: readonly Offer[];
  texts: readonly AbilityText[];
  /** Whose texts they are, by the position in `texts`. */
  speakers: readonly (readonly Offer[])[];
  marksText: boolean;
}

/** The world by ability and by agent. Independent of the order in which the registry lists agents. */
export class AbilityIndex {
  readonly all: OfferGroup;
  private readonly byAbility: Map<string, OfferGroup>;
  private readonly byAgent: Map<string, OfferGroup>;

  constructor(public agents: readonly AgentVersion[]) {
    const offers = offersOf(agents);
    linkSiblings(offers);
    this.all = toGroup(offers);
    this.byAbility = groupsBy(offers, (offer) => offer.capability.name);
    this.byAgent = groupsBy(offers, (offer) => offer.agentName);
  }

  ability(name: string): OfferGroup | undefined {
    return this.byAbility.get(name);
  }

  agent(name: string): OfferGroup | undefined {
    return this.byAgent.get(name);
  }

  abilityNames(): Iterable<string> {
    return this.byAbility.keys();
  }

  agentNames(): Iterable<string> {
    return this.byAgent.keys();
  }

  agentOf(offer: Offer): AgentVersion {
    return this.agents[offer.slot]!;
  }
}

/** Keeps the index of the newest revision; heartbeats, which leave descriptors alone, cost no rebuilding. */
export class IndexCache {
  private revision: string | null = null;
  private descriptors: Descriptor[] = [];
  /** Sorted position → position in the world. */
  private order: number[] = [];
  private index = new AbilityIndex([]);

  of(world: World): AbilityIndex {
    if (world.revision === this.revision) return this.index;
    const { agents } = world;
    const sameDescriptors =
      agents.length === this.descriptors.length && agents.every((agent, i) => agent.descriptor === this.descriptors[i]);
    if (!sameDescriptors) this.order = sortedPositions(agents);
    const sorted = this.order.map((position) => agents[position]!);
    if (sameDescriptors) this.index.agents = sorted;
    else this.index = new AbilityIndex(sorted);
    this.descriptors = agents.map((agent) => agent.descriptor);
    this.revision = world.revision;
    return this.index;
  }
}

function sortedPositions(agents: readonly AgentVersion[]): number[] {
  return agents
    .map((_, position) => position)
    .sort(
      (a, b) =>
        compareText(agents[a]!.name, agents[b]!.name) ||
        compareVersionsDescending(agents[a]!.version, agents[b]!.version),
    );
}

/** Code-unit order: the same on every machine, whatever its locale. */
export function compareText(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

function offersOf(agents: readonly AgentVersion[]): Offer[] {
  const schemas = new Map<string, SharedSchema>();
  const texts = new Map<string, AbilityText>();
  let position = 0;
  return agents.flatMap(({ name, version, descriptor }, slot) =>
    descriptor.capabilities.map((capability) => ({
      position: position++,
      slot,
      agentName: name,
      agentVersion: version,
      capability,
      text: share(texts, textOf(capability)),
      schema: sharedSchema(schemas, capability.input_schema),
      breakerKey: { agentName: name, agentVersion: version, ability: capability.name },
      siblings: null,
      onlyVersion: agents[slot - 1]?.name !== name && agents[slot + 1]?.name !== name,
    })),
  );
}

/** Its own words; an ability that gives no examples is helped by its name. */
function textOf({ name, description, examples }: Capability): AbilityText {
  const spelledName = name.replace(/[_.-]+/g, ' ').trim() || name;
  const said = [description, ...examples].filter((text) => text.trim() !== '');
  const texts = examples.length > 0 && said.length > 1 ? said : [...said, spelledName];
  return { key: texts.join('\u0000'), texts };
}

function share(known: Map<string, AbilityText>, text: AbilityText): AbilityText {
  const first = known.get(text.key);
  if (!first) known.set(text.key, text);
  return first ?? text;
}

function sharedSchema(known: Map<string, SharedSchema>, document: Capability['input_schema']): SharedSchema {
  const key = JSON.stringify(document) ?? '';
  let schema = known.get(key);
  if (!schema) known.set(key, (schema = { document, marksText: key.includes(ROUTING_TEXT_KEYWORD) }));
  return schema;
}

/** Agents come sorted, best version first, so siblings do as well. */
function linkSiblings(offers: readonly Offer[]): void {
  const families = gather(offers, (offer) => `${offer.agentName}#${offer.capability.name}`);
  for (const family of families.values()) if (family.length > 1) for (const offer of family) offer.siblings = family;
}

function groupsBy(offers: readonly Offer[], keyOf: (offer: Offer) => string): Map<string, OfferGroup> {
  return new Map([...gather(offers, keyOf)].map(([key, list]) => [key, toGroup(list)]));
}

/** A group of these offers. */
export function toGroup(offers: readonly Offer[]): OfferGroup {
  const offersByText = gather(offers, (offer) => offer.text);
  const texts = [...offersByText.keys()];
  return {
    offers,
    texts,
    speakers: [...offersByText.values()],
    marksText: offers.some((offer) => offer.schema.marksText),
  };
}

/** Lists of items by key, in the order in which keys first occur. */
export function gather<Item, Key>(items: Iterable<Item>, keyOf: (item: Item) => Key): Map<Key, Item[]> {
  const lists = new Map<Key, Item[]>();
  for (const item of items) {
    const key = keyOf(item);
    const list = lists.get(key);
    if (list) list.push(item);
    else lists.set(key, [item]);
  }
  return lists;
}
