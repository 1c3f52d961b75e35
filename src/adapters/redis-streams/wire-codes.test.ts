import { ERROR_TABLE } from '../../protocol/error-codes';
import { codeOfAgent, commandFailure, connectFailure } from './wire-codes';

const reply = (message: string) => Object.assign(new Error(message), { name: 'ReplyError' });
const inScript = (why: string) => `ERR Error running script (call to f_1f3a): @user_script:6: @user_script: 6: ${why} `;
const network = (code: string) => Object.assign(new Error(code), { code });

describe('what Redis’s errors mean', () => {
  it.each([
    ["OOM command not allowed when used memory > 'maxmemory'. script: 1f, on @user_script:1.", 'agent_unavailable'],
    ["READONLY You can't write against a read only replica.", 'agent_unavailable'],
    ['LOADING Redis is loading the dataset in memory', 'agent_unavailable'],
    ['NOAUTH Authentication required.', 'agent_auth_unconfigured'],
    ['WRONGPASS invalid username-password pair or user is disabled.', 'agent_auth_unconfigured'],
    ["NOPERM this user has no permissions to run the 'xadd' command", 'agent_auth_unconfigured'],
    ['WRONGTYPE Operation against a key holding the wrong kind of value', 'agent_protocol_error'],
    ['MOVED 3999 127.0.0.1:6381', 'agent_protocol_error'],
    ["ERR unknown command 'XAUTOCLAIM'", 'agent_protocol_error'],
    // Within a script, up to Redis 6.2.
    [inScript("-READONLY You can't write against a read only replica."), 'agent_unavailable'],
    [inScript("-OOM command not allowed when used memory > 'maxmemory'."), 'agent_unavailable'],
    [inScript('-NOREPLICAS Not enough good replicas to write.'), 'agent_unavailable'],
    [inScript('-WRONGTYPE Operation against a key holding the wrong kind of value'), 'agent_protocol_error'],
    [inScript('Wrong number of args calling Redis command From Lua script'), 'agent_protocol_error'],
  ])('%s: nothing was done', (message, code) => {
    for (const classify of [commandFailure, connectFailure])
      expect(classify(reply(message))).toMatchObject({ code, received: 'no' });
  });

  it.each([
    ['ECONNREFUSED', 'agent_unavailable'],
    ['ENOTFOUND', 'agent_unavailable'],
    ['EGRESS_FORBIDDEN', 'callback_url_forbidden'],
    ['DEPTH_ZERO_SELF_SIGNED_CERT', 'agent_protocol_error'],
    ['ECONNRESET', 'agent_unavailable'],
    ['ABORT_ERR', 'agent_unavailable'],
  ])('%s before there is a connection: nothing was sent', (code, ours) => {
    expect(connectFailure(network(code))).toMatchObject({ code: ours, received: 'no' });
  });

  it.each([network('ECONNRESET'), new Error('Connection is closed.'), new Error('Command timed out'), 'nonsense'])(
    '%s in the middle of a command: it may have been done',
    (caught) => {
      expect(commandFailure(caught)).toMatchObject({ code: 'agent_unavailable', received: 'unknown' });
    },
  );
});

describe('what agents say', () => {
  it('keeps the codes that agents have', () => {
    for (const code of ['agent_rejected', 'agent_error', 'agent_busy', 'agent_timeout', 'worker_lost'])
      expect(codeOfAgent(code)).toBe(code);
  });

  it('lets no agent speak for the platform', () => {
    const others = Object.keys(ERROR_TABLE).filter((code) => codeOfAgent(code) !== code);
    expect(others).toEqual(expect.arrayContaining(['unauthorized', 'internal', 'deadline_exceeded', 'circuit_open']));
    for (const code of [...others, '', 'constructor', '__proto__'])
      expect(codeOfAgent(code)).toBe('agent_protocol_error');
  });
});
