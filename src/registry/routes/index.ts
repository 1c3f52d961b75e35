/** The route table on etcd (R21): which versions of agents take whose calls, and in what proportion. */
export { AlertClaims } from './alert-claims';
export { RouteTableStore, type StoredTable, type TableChange } from './route-table-store';
export { RouteTableView } from './route-table-view';
export { TrialStore } from './trial-store';
