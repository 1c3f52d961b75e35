import fc from 'fast-check';
import { messageFields, readMessage, readReply, replyFields, type QueueMessage, type QueueVerdict } from './queue-wire';

const buffers = (fields: string[]) => fields.map((field) => Buffer.from(field));
const text = fc.string({ unit: 'grapheme' });
const word = fc.string({ unit: 'grapheme-ascii', minLength: 1, maxLength: 40 });

const message: fc.Arbitrary<QueueMessage> = fc.record({
  id: word,
  replyTo: word,
  once: fc.boolean(),
  traceparent: text,
  reachToken: text,
  call: fc
    .record({ reach_id: word, payload: fc.dictionary(text, fc.jsonValue()) })
    .map((call) => JSON.parse(JSON.stringify(call)) as QueueMessage['call']),
});
const verdict: fc.Arbitrary<QueueVerdict> = fc.oneof(
  fc.record({ type: fc.constant('answer' as const), output: fc.json() }),
  fc.record({ type: fc.constant('uploaded' as const), outputRef: word }),
  fc.record({ type: fc.constant('accepted' as const) }),
  fc.record({ type: fc.constant('failed' as const), code: word, message: text }),
);

describe('a message', () => {
  it('is read as it was written', () => {
    fc.assert(fc.property(message, (each) => expect(readMessage(messageFields(each))).toEqual(each)));
  });

  it('is nothing when it is of another protocol, or half of one', () => {
    const fields = messageFields({
      id: 'i',
      replyTo: 'r',
      once: false,
      traceparent: '',
      reachToken: '',
      call: {} as never,
    });
    for (const name of ['v', 'id', 'reply_to', 'call']) {
      const at = fields.indexOf(name);
      expect(readMessage([...fields.slice(0, at), ...fields.slice(at + 2)])).toBeNull();
    }
    expect(readMessage(fields.map((field) => (field === '1' ? '2' : field)))).toBeNull();
    expect(readMessage([...fields.slice(0, -1), '[]'])).toBeNull();
    expect(readMessage([...fields.slice(0, -1), '{'])).toBeNull();
  });

  it('never throws, whatever is in the stream', () => {
    fc.assert(fc.property(fc.array(text), (fields) => void readMessage(fields)));
  });
});

describe('a reply', () => {
  const from = { id: 'i-1', instance: 'a-1', receivedAt: '2026-01-01T00:00:00.000Z' };

  it('is read as it was written', () => {
    fc.assert(
      fc.property(verdict, (each) => {
        const read = readReply(buffers(replyFields(from, each)));
        const output = each.type === 'answer' && { output: Buffer.from(each.output) };
        expect(read).toEqual({ ...from, ...each, ...output });
      }),
    );
  });

  it('says that a call was taken up', () => {
    expect(readReply(buffers(replyFields(from, { type: 'taken' })))).toEqual({ ...from, type: 'taken' });
  });

  it.each([
    ['250', 250],
    ['604800000', 604_800_000],
    ['604800001', undefined],
    ['-1', undefined],
    ['1e9', undefined],
    ['soon', undefined],
    ['99999999999999999999', undefined],
  ])('waits as long as it says, within reason: %s', (wait, expected) => {
    const fields = ['id', 'i', 'type', 'failed', 'code', 'agent_busy', 'message', 'm', 'retry_after_ms', wait];
    expect(readReply(buffers(fields))).toMatchObject({ type: 'failed', code: 'agent_busy' });
    expect((readReply(buffers(fields)) as { retryAfterMs?: number }).retryAfterMs).toBe(expected);
  });

  it('is malformed when it names a call and says nothing of use, and nothing when it names none', () => {
    expect(readReply(buffers(['id', 'i', 'type', 'answer']))).toEqual({ id: 'i', type: 'malformed' });
    expect(readReply(buffers(['id', 'i', 'type', 'dance']))).toEqual({ id: 'i', type: 'malformed' });
    expect(readReply(buffers(['type', 'taken']))).toBeNull();
  });

  it('never throws, whatever is in the stream', () => {
    fc.assert(
      fc.property(fc.array(fc.uint8Array()), (fields) => void readReply(fields.map((each) => Buffer.from(each)))),
    );
  });
});
