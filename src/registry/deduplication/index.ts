/** What agents have done already (R4, R7), on etcd. */
export { DeduplicationRecords } from './deduplication-records';
export { PlatformDeduplication } from './deduplication-store';
