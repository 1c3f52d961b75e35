/**
 * The store's two steps as Redis scripts, which run one at a time. Each key is a hash of `fence` and, once there is a
 * result, `output`. The rules are those of the etcd store (`registry/deduplication/rules`); the contract suite holds both
 * to them. Fences are of one width, so that comparing them as text is comparing them as numbers.
 */

/** KEYS: key. ARGV: fence (empty: only look), ttl in ms. */
export const BEGIN = `
local output = redis.call('HGET', KEYS[1], 'output')
if output then return {'done', output} end
if ARGV[1] == '' then return {'free'} end
local fence = redis.call('HGET', KEYS[1], 'fence')
if fence and fence > ARGV[1] then return {'superseded'} end
redis.call('HSET', KEYS[1], 'fence', ARGV[1])
redis.call('PEXPIRE', KEYS[1], ARGV[2])
return {'free'}
`;

/** KEYS: key. ARGV: fence, ttl in ms, output. */
export const COMPLETE = `
local output = redis.call('HGET', KEYS[1], 'output')
if output == ARGV[3] then return {'recorded'} end
if output then return {'superseded', output} end
local fence = redis.call('HGET', KEYS[1], 'fence')
if fence and fence > ARGV[1] then return {'superseded'} end
redis.call('HSET', KEYS[1], 'fence', ARGV[1], 'output', ARGV[3])
redis.call('PEXPIRE', KEYS[1], ARGV[2])
return {'recorded'}
`;
