/** Who gets the events of which topics (R3), on etcd. */
export { SubscriptionStore, type PutOutcome } from './subscription-store';
export { SubscriptionView } from './subscription-view';
