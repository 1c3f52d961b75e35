/** Alerts: what operators should know of, raised once whatever number of processes notices it. */
export type { Alert, AlertInput, AlertSink } from './alert';
export { Alerts } from './alerts';
export { callbackChannel, logChannel, topicChannel } from './channels';
