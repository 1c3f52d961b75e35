/** Texts to vectors, and what stands in for vectors when there are none. */
export { createEmbedder, type EmbedderOptions, type HttpEmbedder } from './http-embedder';
export { LexicalMatcher } from './lexical-matcher';
