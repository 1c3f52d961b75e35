import type { DescriptorDraft } from './descriptor';
import { checkDescriptor } from './descriptor-loader';
import { queuePlace } from './queue-endpoint';
import { ReachError } from './reach-error';

const draft = (endpoint: object): DescriptorDraft =>
  ({ name: 'refunds', version: '1.2.0', capabilities: ['refund'], endpoint }) as DescriptorDraft;
const accept = (endpoint: object) => checkDescriptor(draft(endpoint)).descriptor;
const findings = (endpoint: object) => {
  try {
    accept(endpoint);
  } catch (caught) {
    const { code, options } = ReachError.from(caught);
    return { code, errors: options.errors };
  }
  return null;
};

describe('where a descriptor says its queue is', () => {
  it('names the queue after agent and version, so that versions never take each other’s work', () => {
    const place = queuePlace(accept({ protocol: 'mq', address: 'redis://redis.example:6379/0' }));
    expect(place).toEqual({
      address: 'redis://redis.example:6379/0',
      queue: 'agent-reach.refunds@1.2.0',
      username: undefined,
    });
  });

  it('takes a name and a user of its own', () => {
    const endpoint = { protocol: 'mq', address: 'rediss://redis.example', queue: 'refunds:calls', username: 'reach' };
    expect(queuePlace(accept(endpoint))).toEqual({
      address: 'rediss://redis.example',
      queue: 'refunds:calls',
      username: 'reach',
    });
  });

  it('is nowhere for other protocols', () => {
    expect(queuePlace(accept({ protocol: 'http', address: 'http://a.example/' }))).toBeNull();
  });

  it.each<[what: string, endpoint: object, pointer: string, says: RegExp]>([
    ['no address', { protocol: 'mq' }, '/endpoint/address', /is missing/],
    ['two addresses', { protocol: 'mq', address: ['redis://a', 'redis://b'] }, '/endpoint/address', /is a list/],
    ['another scheme', { protocol: 'mq', address: 'amqp://a/' }, '/endpoint/address', /not the address of a Redis/],
    ['no URL', { protocol: 'mq', address: 'a:6379' }, '/endpoint/address', /not the address of a Redis/],
    ['a password', { protocol: 'mq', address: 'redis://:s3cret@a/0' }, '/endpoint/address', /credentials/],
    ['a user', { protocol: 'mq', address: 'redis://reach@a/0' }, '/endpoint/address', /credentials/],
    ['a database by name', { protocol: 'mq', address: 'redis://a/calls' }, '/endpoint/address', /names the database/],
    ['a query', { protocol: 'mq', address: 'redis://a/0?tls=1' }, '/endpoint/address', /more than/],
    ['a wildcard in the name', { protocol: 'mq', address: 'redis://a', queue: 'x*' }, '/endpoint/queue', /must be/],
    ['a queue without mq', { protocol: 'worker', queue: 'x' }, '/endpoint/queue', /is for protocol mq/],
    ['consumers without mq', { protocol: 'http', consumers: 'anonymous' }, '/endpoint/consumers', /is for protocol mq/],
  ])('refuses %s, with the place and what to do', (_what, endpoint, pointer, says) => {
    const found = findings(endpoint);
    expect(found).toMatchObject({
      code: 'invalid_descriptor',
      errors: [{ pointer, message: expect.stringMatching(says) }],
    });
    expect(JSON.stringify(found)).not.toContain('s3cret');
  });

  it('says how to mend what it refuses', () => {
    expect(findings({ protocol: 'mq', address: 'redis://:s3cret@a/0' })?.errors?.[0]?.fix).toContain('token_env');
    expect(findings({ protocol: 'mq' })?.errors?.[0]?.fix).toContain('redis://');
  });
});
