import { callbackId, parseCallbackId } from './callback-id';
import { callbackSchema, replyToSchema } from './callback-target';

const RUN = '01890a5d-ac96-774b-bcce-b302099a8057';
const REACH = `r-${'k5x2m7qyzv3c4b6n7a2s4d5f6g7h2j3k'}`;

describe('ids of callbacks', () => {
  it.each(['callback', 'reply'] as const)('lead back to the run that they tell of: %s', (kind) => {
    const key = { reachId: REACH, runId: RUN, kind };
    expect(parseCallbackId(callbackId(key))).toEqual(key);
    // Standard Webhooks: no full stop in an id, which separates what is signed.
    expect(callbackId(key)).toMatch(/^[a-z0-9-]{1,128}$/);
    expect(replyToSchema.safeParse({ workflow_id: callbackId(key), signal: 'x' }).success).toBe(false);
  });

  it.each(['', 'cb-', REACH, `cb-${REACH}`, `cb-${REACH.slice(2)}-${RUN}-x`, `cb-${REACH.slice(2)}-${RUN}\n`])(
    'are nothing else: %j',
    (id) => expect(parseCallbackId(id)).toBeNull(),
  );
});

describe('a reply', () => {
  it.each(['order-42', 'r-42', 'e-mail', 'cb-shop', '订单 7', 'R-X'])(
    'may go to a workflow called %s',
    (workflow_id) => {
      expect(replyToSchema.safeParse({ workflow_id, signal: 'answered' }).success).toBe(true);
    },
  );

  it.each([REACH, `e-${REACH.slice(2)}`, 'temporal-sys-history-scanner', '', 'a\nb', 'x'.repeat(513)])(
    'may not go to %j',
    (workflow_id) => expect(replyToSchema.safeParse({ workflow_id, signal: 'answered' }).success).toBe(false),
  );
});

describe('a callback', () => {
  it.each(['https://shop.example:0/hooks', 'http://127.0.0.1:00', 'http://[::1]:0/'])('may not go to %s', (url) => {
    const { error } = callbackSchema.safeParse({ url });
    expect(error!.issues).toEqual([
      expect.objectContaining({ path: ['url'], message: expect.stringMatching(/port 0/) }),
    ]);
  });

  it.each(['https://shop.example/hooks', 'http://shop.example:80/', 'https://shop.example:10/?port=:0'])(
    'may go to %s',
    (url) => expect(callbackSchema.safeParse({ url }).success).toBe(true),
  );
});
