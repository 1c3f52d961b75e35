/** Which version of the chosen agent takes a call (R21): the route table's splits, sticky and monotone. Pure. */
export { stickyHash } from './choose-version';
export {
  canaries,
  shareUnnamed,
  unlistedVersions,
  type CanaryVersion,
  type UnlistedPlace,
  type UnlistedVersion,
} from './unlisted';
