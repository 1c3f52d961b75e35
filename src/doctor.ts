/** The doctor of one gateway, out of the platform's parts (R39). */
import { Client } from '@temporalio/client';
import { SEARCH_ATTRIBUTES } from '../workflows/search-attributes';
import { Doctor, type DoctorOptions } from './gateway/doctor';
import type { Platform } from './platform';

/** What the gateway brings besides the platform. */
export type DoctorParts = Pick<DoctorOptions, 'deadLetters' | 'groups'>;

/** Makes a doctor that looks at this process and at what it sees of the platform. */
export function createDoctor(platform: Platform, parts: DoctorParts): Doctor {
  const { config, connection, view, router, breakers, connections, logger } = platform;
  return new Doctor({
    ...parts,
    config,
    client: new Client({ connection, namespace: config.temporal.namespace }),
    connection,
    searchAttributes: Object.keys(SEARCH_ATTRIBUTES),
    view,
    router,
    breakers,
    vectors: () => platform.vectors(),
    connections: () => connections.counts(),
    routedGroups: () => (view.world().routes?.entries ?? config.routes).map(({ from }) => from),
    now: () => new Date(),
    logger,
  });
}
