/** Queueing arithmetic for scaling hints and estimates (R35): pure, sources cited where the formulas are. */
export { gammaCdf, normalCdf, wilsonUpper } from './distributions';
export { erlangB, erlangC } from './erlang';
export { cv2, meanMs, mixProfiles, NO_SERVICE, quantileMs, type ServiceProfile } from './service-profile';
export {
  fewestServers,
  kingmanBoundMs,
  meanWaitMs,
  offeredLoad,
  waitQuantileMs,
  type Queue,
  type WaitTargets,
} from './waiting';
