/** Deciding again what was decided (R23). Pure: the log, the texts and the embedder are brought in from outside. */
export { prepareChanges, type PreparedChanges } from './changes';
export { comparerOf } from './comparer';
export type { Comparer } from './replay';
export { replayAll } from './report';
