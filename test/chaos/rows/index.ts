import type { Scenario } from '../harness/scenario';
import { workerKilled } from './row-01-worker-killed';
import { gatewayKilled } from './row-02-gateway-killed';
import { etcdKilled, etcdPaused } from './row-03-04-etcd-lost';
import { compactedWhileCut, etcdFull } from './row-05-06-etcd-trouble';
import { temporalKilled, temporalSlow } from './row-07-08-temporal-lost';
import { blackHole, drippingAgent, halfOpen, resetMidResponse } from './row-09-12-bad-networks';
import { duplicateResults } from './row-13-duplicate-results';
import { wrongClocks } from './row-14-clocks';
import { blobDiskFull } from './row-15-blob-disk-full';
import { manyPending, outOfMemory, poisonMessage } from './row-16-18-pressure';
import { gatewayCut } from './row-19-gateway-cut';
import { rollingUpgrade, sigtermUnderLoad } from './row-20-25-restarts';
import { racingGateways } from './row-21-racing-gateways';
import { redriveTwice } from './row-22-redrive';
import { everythingFails } from './row-23-everything-fails';
import { queueRedelivery } from './row-24-queue-redelivery';
import { placesAndProbes } from './row-26-places-and-probes';
import { exactlyOnce } from './row-27-exactly-once';

/** Every row that can be run, by number. */
export const SCENARIOS: readonly Scenario[] = [
  workerKilled,
  gatewayKilled,
  etcdPaused,
  etcdKilled,
  compactedWhileCut,
  etcdFull,
  temporalKilled,
  temporalSlow,
  blackHole,
  drippingAgent,
  halfOpen,
  resetMidResponse,
  duplicateResults,
  wrongClocks,
  blobDiskFull,
  manyPending,
  poisonMessage,
  outOfMemory,
  gatewayCut,
  rollingUpgrade,
  racingGateways,
  redriveTwice,
  everythingFails,
  queueRedelivery,
  sigtermUnderLoad,
  placesAndProbes,
  exactlyOnce,
];

/** Rows that break what this release does not have yet. */
export const NOT_APPLICABLE: readonly { row: number; name: string }[] = [];
