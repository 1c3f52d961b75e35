/** Planted in gateways: the store compares fences the wrong way, so that a key goes to the attempt that was there before. */
import * as rules from '../../../src/registry/deduplication/rules';

const { onBegin } = rules;

Object.assign(rules as object, {
  onBegin: (found: Parameters<typeof onBegin>[0], fence: string): ReturnType<typeof onBegin> => {
    if (!found || found.output || found.fence === fence) return onBegin(found, fence);
    return found.fence < fence ? { answer: { status: 'superseded' } } : onBegin(null, fence);
  },
});
