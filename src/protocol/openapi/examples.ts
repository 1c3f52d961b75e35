/** Examples of the OpenAPI document; index.test.ts holds that each fits its schema. */
import type { DescriptorDraft } from '../descriptor';
import type { EnvelopeDraft } from '../envelope';
import type { EventEnvelopeDraft } from '../event-envelope';
import type { ReachResult, Receipt } from '../shapes';

export const envelopes: Record<string, EnvelopeDraft> = {
  byAbility: {
    ability: 'refund_progress',
    payload: { ticket_id: 'T-1042', text: '我的退款什么时候到账' },
    idempotency_key: 'ticket-T-1042',
    timeout_ms: 10_000,
  },
  byAgent: {
    target_agent: 'refund_agent#1.2.0',
    payload: { ticket_id: 'T-1042', text: 'Where is my refund?' },
    mode: 'async',
  },
  byMeaning: { ability: '*', payload: { text: 'The parcel arrived broken, who pays for sending it back?' } },
};

const ids = {
  reach_id: 'r-k5x2m7qyzv3c4b6n7a2s4d5f6g7h2j3k',
  message_id: '018f3a5e-7c2b-7d11-9a4e-1b2c3d4e5f60',
  agent_name: 'refund_agent',
  agent_version: '1.2.0',
  route_reason: 'refund_agent scores 0.91, ahead of aftersale_agent with 0.62',
  decision_id: '018f3a5e-7c2b-7d11-9a4e-1b2c3d4e5f61',
  replayed: false,
  trace_id: '4bf92f3577b34da6a3ce929d0e0e4736',
};

export const receipt: Receipt = {
  ...ids,
  status: 'accepted',
  stage: 'routed',
  accepted_at: '2026-05-04T08:30:00.000Z',
  expires_in_ms: 9_950,
  links: { self: `/v1/reaches/${ids.reach_id}`, events: `/v1/reaches/${ids.reach_id}/events`, temporal: null },
};

export const result: ReachResult = {
  ...ids,
  status: 'completed',
  ability: 'refund',
  instance: 'refund-7f9c',
  confidence: 0.87,
  output: { answer: '退款已原路退回，预计 1–3 个工作日到账。', confidence: 0.93 },
  answer: '退款已原路退回，预计 1–3 个工作日到账。',
  degraded: false,
  attempts: 1,
  duration_ms: 842,
};

export const lateResults = {
  answer: { output: { answer: 'The refund was paid out today.' } },
  failure: { error: { code: 'agent_error', message: 'the bank did not answer' } },
};

export const descriptor: DescriptorDraft = {
  name: 'refund_agent',
  version: '1.2.0',
  capabilities: [
    {
      name: 'refund_progress',
      description: 'Tells where the money of a refund is and speeds it up',
      input_schema: {
        type: 'object',
        required: ['text'],
        properties: { text: { type: 'string' }, ticket_id: { type: 'string' } },
      },
      idempotency_from: '/ticket_id',
    },
  ],
  endpoint: { protocol: 'http', address: 'http://refund-svc:9000/reach', timeout_ms: 3_000, max_retry: 2 },
};

export const eventEnvelope: EventEnvelopeDraft = {
  mode: 'event',
  topic: 'orders.created',
  type: 'order.created',
  message_id: 'order-7-created',
  source_agent: 'shop',
  payload: { order: 7 },
};

export const published = {
  event_id: 'order-7-created',
  matched: 2,
  reach_ids: [ids.reach_id, 'r-m2x7k5qyzv3c4b6n7a2s4d5f6g7h2j3k'],
};
