/**
 * The steps of the queue's protocol that must happen as one, as Redis scripts (6.2 or later, not Redis Cluster: a queue and the
 * replies are different keys). Part of the wire: agents in other languages run the same texts.
 */
import { LONGEST_CALL_MS, MAX_DELIVERIES, REPLIES_KEPT_MS } from './queue-wire';

/**
 * The platform publishes a call. KEYS: queue, call key. ARGV: time that it may take in ms, fields of the entry.
 * Answers the entry's id. The entry says in `expires_at` when the time is over, Unix ms on Redis's clock.
 */
export const PUBLISH = `
local now = redis.call('TIME')
local ms = tonumber(now[1]) * 1000 + math.floor(tonumber(now[2]) / 1000)
local expires = string.format('%.0f', ms + tonumber(ARGV[1]))
local entry = redis.call('XADD', KEYS[1], '*', 'expires_at', expires, unpack(ARGV, 2))
redis.call('SET', KEYS[2], 'waiting', 'PX', ARGV[1])
redis.call('XTRIM', KEYS[1], 'MINID', '~', string.format('%.0f', ms - ${LONGEST_CALL_MS}))
return entry
`;

/**
 * An agent takes up a message that it was given. KEYS: queue, call key, replies. ARGV: group, entry, consumer, once (0 or 1), fields of
 * the reply \`taken\`. Answers \`taken\` with the time left in ms and how often it was given out; \`gone\`: nobody waits, do nothing;
 * \`lost\`: another consumer has it; \`poison\`: given out too often, answer with a failure and do not begin.
 */
export const TAKE = `
if redis.call('EXISTS', KEYS[2]) == 0 then
  redis.call('XACK', KEYS[1], ARGV[1], ARGV[2])
  redis.call('XDEL', KEYS[1], ARGV[2])
  return {'gone'}
end
local pending = redis.call('XPENDING', KEYS[1], ARGV[1], ARGV[2], ARGV[2], 1)[1]
if not pending or pending[2] ~= ARGV[3] then return {'lost'} end
redis.call('SET', KEYS[2], 'taken:' .. ARGV[3], 'KEEPTTL')
if pending[4] > ${MAX_DELIVERIES} then return {'poison', redis.call('PTTL', KEYS[2]), pending[4]} end
redis.call('XADD', KEYS[3], '*', unpack(ARGV, 5))
redis.call('PEXPIRE', KEYS[3], ${REPLIES_KEPT_MS})
if ARGV[4] == '1' then
  redis.call('XACK', KEYS[1], ARGV[1], ARGV[2])
  redis.call('XDEL', KEYS[1], ARGV[2])
end
return {'taken', redis.call('PTTL', KEYS[2]), pending[4]}
`;

/**
 * An agent renews its claims. KEYS: queue, call keys. ARGV: group, consumer, their entries in the same order.
 * Answers the positions (from 1) of those that are not its own any more: stop working on them.
 */
export const KEEP = `
local over = {}
for i = 2, #KEYS do
  if redis.call('GET', KEYS[i]) == 'taken:' .. ARGV[2] then
    redis.call('XCLAIM', KEYS[1], ARGV[1], ARGV[2], 0, ARGV[i + 1], 'JUSTID')
  else
    over[#over + 1] = i - 1
  end
end
return over
`;

/**
 * An agent answers, and acknowledges in the same step. KEYS: queue, call key, replies. ARGV: group, entry, consumer, fields of the reply.
 * Answers \`done\`; \`gone\`: nobody waits any more; \`lost\`: another consumer has it now. Only \`done\` has told anybody.
 */
export const DONE = `
local owner = redis.call('GET', KEYS[2])
if owner and owner ~= 'taken:' .. ARGV[3] then return 'lost' end
redis.call('XACK', KEYS[1], ARGV[1], ARGV[2])
redis.call('XDEL', KEYS[1], ARGV[2])
if not owner then return 'gone' end
redis.call('XADD', KEYS[3], '*', unpack(ARGV, 4))
redis.call('PEXPIRE', KEYS[3], ${REPLIES_KEPT_MS})
redis.call('DEL', KEYS[2])
return 'done'
`;

/**
 * The platform takes a call back that nobody has taken up. KEYS: queue, call key. ARGV: group, entry.
 * Answers \`withdrawn\`, \`taken\` or \`gone\`.
 */
export const WITHDRAW = `
local state = redis.call('GET', KEYS[2])
if not state then return 'gone' end
if state ~= 'waiting' then return 'taken' end
redis.call('DEL', KEYS[2])
redis.call('XACK', KEYS[1], ARGV[1], ARGV[2])
redis.call('XDEL', KEYS[1], ARGV[2])
return 'withdrawn'
`;

/** The platform does not wait any more; whoever works on the call learns it when it renews. KEYS: queue, call key. ARGV: group, entry. */
export const END = `
redis.call('DEL', KEYS[2])
redis.call('XACK', KEYS[1], ARGV[1], ARGV[2])
redis.call('XDEL', KEYS[1], ARGV[2])
return 1
`;

/**
 * An agent leaves, and takes along the names of consumers that were lost long ago. A name goes only while nothing is given out to it.
 * KEYS: queue. ARGV: group, consumer, ms of idleness after which others are lost.
 */
export const LEAVE = `
for _, consumer in ipairs(redis.call('XINFO', 'CONSUMERS', KEYS[1], ARGV[1])) do
  local about = {}
  for i = 1, #consumer, 2 do about[consumer[i]] = consumer[i + 1] end
  local over = about.name == ARGV[2] or about.idle > tonumber(ARGV[3])
  if over and about.pending == 0 then redis.call('XGROUP', 'DELCONSUMER', KEYS[1], ARGV[1], about.name) end
end
return 1
`;
