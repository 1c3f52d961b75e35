import { assertBrokerAllowed, assertUrlAllowed, isAddressAllowed, parseEgressAllow } from './egress';
import { isTokenEnvAllowed } from './token-env';

const none = parseEgressAllow([]);
const loopback = parseEgressAllow(['127.0.0.0/8', '::1']);

describe('addresses that may be called', () => {
  it.each([
    'http://127.0.0.1/',
    'http://2130706433/',
    'http://0x7f000001/',
    'http://0177.0.0.1/',
    'http://127.1/',
    'http://①②⑦.0.0.1/',
    'http://localhost./',
    'http://LOCALHOST/',
    'http://x.localhost/',
    'http://0/',
    'http://[::1]/',
    'http://[::ffff:7f00:1]/',
    'http://[64:ff9b::7f00:1]/',
    'http://169.254.169.254/latest/',
    'http://[fd00::1]/',
    'http://[::169.254.169.254]/',
    'http://[fe80::1]/',
    'http://100.64.0.1/',
    'http://10.0.0.1/',
    'http://192.168.1.1/',
    'http://user:pw@example.com/',
    'file:///etc/passwd',
    'gopher://x/',
    'http://example.com:6379/',
    'http://example.com:25/',
    'not a url',
    '',
  ])('refuses %s unless the operator allows it', (url) => {
    expect(() => assertUrlAllowed(url, none, 'agent x')).toThrow(
      expect.objectContaining({ code: 'callback_url_forbidden' }),
    );
  });

  it.each([
    'https://example.com/',
    'http://example.com:8080/invoke',
    'http://93.184.216.34/',
    'http://[2606:2800:220:1::1]/',
  ])('lets %s pass', (url) => {
    expect(assertUrlAllowed(url, none, 'agent x').href).toBe(url);
  });

  it('opens exactly what the operator allows', () => {
    expect(() => assertUrlAllowed('http://127.0.0.1:9000/', loopback, 'agent x')).not.toThrow();
    expect(() => assertUrlAllowed('http://localhost:9000/', loopback, 'agent x')).not.toThrow();
    expect(() => assertUrlAllowed('http://[::ffff:7f00:1]/', loopback, 'agent x')).not.toThrow();
    expect(() => assertUrlAllowed('http://10.0.0.1/', loopback, 'agent x')).toThrow();
    expect(() =>
      assertUrlAllowed('http://agents.internal/', parseEgressAllow(['agents.internal']), 'agent x'),
    ).not.toThrow();
  });

  it('judges resolved addresses by what they carry', () => {
    expect(isAddressAllowed('::ffff:10.0.0.1', none)).toBe(false);
    expect(isAddressAllowed('8.8.8.8', none)).toBe(true);
    expect(isAddressAllowed('64:ff9b::808:808', none)).toBe(true);
    // 10.0.0.1 under a prefix of RFC 8215, with 8.8.8.8 where only 64:ff9b::/96 has its address.
    expect(isAddressAllowed('64:ff9b:1:a00:0:100:808:808', none)).toBe(false);
    expect(isAddressAllowed('not-an-address', none)).toBe(false);
  });

  it.each(['10.0.0.0/40', 'http://x', '', 'a b'])('quotes the entry %p that it cannot read', (entry) => {
    // A start that fails for it ends as one with a bad configuration.
    expect(() => parseEgressAllow(['10.0.0.0/8', entry])).toThrow(
      expect.objectContaining({
        code: 'invalid_request',
        message: expect.stringContaining(`'${entry}'`) as string,
        options: { errors: [expect.objectContaining({ pointer: '/security/egress_allow/1' })] },
      }),
    );
  });
});

describe('token variables', () => {
  it.each([
    ['PRODUCT_QA_TOKEN', ['PRODUCT_QA_TOKEN'], true],
    ['AGENT_A_TOKEN', ['AGENT_*'], true],
    ['TEMPORAL_API_KEY', ['AGENT_*', 'PRODUCT_QA_TOKEN'], false],
    ['PRODUCT_QA_TOKEN', [], false],
  ])('%s with %j allowed: %s', (name, allowed, expected) => {
    expect(isTokenEnvAllowed(name, allowed)).toBe(expected);
  });
});

describe('brokers that may be connected to', () => {
  it.each([
    'redis://127.0.0.1:6379',
    'redis://2130706433:6379/0',
    'redis://0x7f.1/0',
    'redis://%31%32%37.0.0.1/0',
    'redis://localhost',
    'rediss://[::1]:6380/1',
    'redis://[::ffff:7f00:1]',
    'redis://169.254.169.254',
    'redis://10.0.0.6:6379',
    'redis://redis.example:25',
    'redis://redis.example:2379',
    'redis://user:pw@redis.example',
    'http://redis.example:6379',
    'unix:///run/redis.sock',
    'redis:redis.example',
    'redis://',
    '',
  ])('refuses %s unless the operator allows it', (address) => {
    expect(() => assertBrokerAllowed(address, none, 'agent x')).toThrow(
      expect.objectContaining({ code: 'callback_url_forbidden' }),
    );
  });

  it.each([
    ['redis://redis.example', { host: 'redis.example', port: 6379, database: 0, tls: false }],
    ['redis://redis.example:6379/3', { host: 'redis.example', port: 6379, database: 3, tls: false }],
    ['REDISS://Redis.Example:80/', { host: 'redis.example', port: 80, database: 0, tls: true }],
    ['redis://8.8.8.8:7000', { host: '8.8.8.8', port: 7000, database: 0, tls: false }],
  ])('reads %s', (address, place) => {
    expect(assertBrokerAllowed(address, none, 'agent x')).toEqual(place);
  });

  it('reads what the operator allows in any spelling, as the address that it is', () => {
    for (const spelling of ['127.0.0.1', '2130706433', '0x7f.1'])
      expect(assertBrokerAllowed(`redis://${spelling}:6390`, loopback, 'agent x').host).toBe('127.0.0.1');
    expect(assertBrokerAllowed('redis://[::1]', loopback, 'agent x').host).toBe('::1');
  });
});
