import type { Connection } from '@temporalio/client';
import { msToTs } from '@temporalio/common/lib/time';

import { until } from './probe';

const NAMESPACE = 'default';

/** Types of a search attribute with their numbers in Temporal's API (`temporal.api.enums.v1.IndexedValueType`). */
const TYPE_NUMBERS = { Text: 1, Keyword: 2, Int: 3, Double: 4, Bool: 5, Datetime: 6, KeywordList: 7 } as const;

/** Type of a custom search attribute. */
export type SearchAttributeType = keyof typeof TYPE_NUMBERS;

/** What the `default` namespace of a development server shall be like. */
export interface NamespaceWish {
  address: string;
  retentionDays: number;
  searchAttributes: Record<string, SearchAttributeType>;
  signal: AbortSignal;
}

/**
 * Waits until the server serves, then gives its `default` namespace the wanted retention and search attributes.
 * The development server has no option for retention (it sets one day), and it ignores `--search-attribute` for
 * attributes that an existing database lacks.
 */
export async function prepareNamespace({
  address,
  retentionDays,
  searchAttributes,
  signal,
}: NamespaceWish): Promise<void> {
  // Loaded late: most users of src/engines start no Temporal server, and the client takes 0.2 s to load.
  const { Connection } = await import('@temporalio/client');
  const connection = Connection.lazy({ address });
  try {
    await until(() => hasNamespace(connection), signal);
    await setRetention(connection, retentionDays);
    await addSearchAttributes(connection, searchAttributes, signal);
  } finally {
    await connection.close();
  }
}

async function hasNamespace({ workflowService }: Connection): Promise<boolean> {
  const described = await workflowService.describeNamespace({ namespace: NAMESPACE });
  return described.namespaceInfo?.name === NAMESPACE;
}

async function setRetention({ workflowService }: Connection, days: number): Promise<void> {
  const workflowExecutionRetentionTtl = msToTs(`${days} days`);
  await workflowService.updateNamespace({ namespace: NAMESPACE, config: { workflowExecutionRetentionTtl } });
}

async function addSearchAttributes(
  { operatorService }: Connection,
  wanted: Record<string, SearchAttributeType>,
  signal: AbortSignal,
): Promise<void> {
  const missing = async (): Promise<Record<string, number>> => {
    const { customAttributes = {} } = await operatorService.listSearchAttributes({ namespace: NAMESPACE });
    const absent = Object.entries(wanted).filter(([key, type]) => isAbsent(key, type, customAttributes?.[key]));
    return Object.fromEntries(absent.map(([key, type]) => [key, TYPE_NUMBERS[type]]));
  };
  const searchAttributes = await missing();
  if (Object.keys(searchAttributes).length === 0) return;
  await operatorService.addSearchAttributes({ namespace: NAMESPACE, searchAttributes });
  await until(async () => Object.keys(await missing()).length === 0, signal);
}

function isAbsent(key: string, type: SearchAttributeType, present: number | null | undefined): boolean {
  if (!present) return true;
  if (present === TYPE_NUMBERS[type]) return false;
  const presentType = Object.entries(TYPE_NUMBERS).find(([, number]) => number === present)?.[0] ?? String(present);
  throw new Error(
    `has search attribute ${key} as ${presentType}, not ${type}: its database is of another version, use a new data folder`,
  );
}
