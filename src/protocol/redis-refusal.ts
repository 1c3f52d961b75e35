/** How Redis says no: by the first word of an error, or, up to Redis 6.2, in the middle of what it says of a script. */

/** Up to 6.2: `ERR Error running script (call to f_…): @user_script:6: @user_script: 6: -READONLY You can't write …`. */
const SCRIPT_FAILED = /^ERR Error running script .*: -(\S+)/s;

/** True for an error that Redis replied: it was understood, and refused. */
export function isReply(caught: unknown): caught is Error {
  return caught instanceof Error && caught.name === 'ReplyError';
}

/** The word by which Redis tells why, such as `READONLY`; empty for what is no reply. */
export function refusalWord(caught: unknown): string {
  if (!isReply(caught)) return '';
  return SCRIPT_FAILED.exec(caught.message)?.[1] ?? caught.message.split(/[\s:]/, 1)[0] ?? '';
}

/**
 * After a failover the name leads to another node, but the connection stays where it is, on what is a replica now. To be
 * given to the client, which then connects anew; the command itself has failed, and is not sent again.
 */
export function leavesReplica(error: Error): boolean {
  return refusalWord(error) === 'READONLY';
}
