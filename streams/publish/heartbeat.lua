-- Says that an engine is deciding, and finds out whether Redis still has what this worker said before.
--
-- KEYS[1]  the engine's key, one for all workers
-- ARGV[1]  worker id
-- ARGV[2]  now, as text for people
-- ARGV[3]  now, in ms
-- ARGV[4]  version of the engine
-- ARGV[5]  how long the key lives, in ms
--
-- Returns 1 if the worker's own field was still there, 0 if it was not: the first time, or Redis has lost its data.
-- Every worker has a field of its own because the others keep the key alive.

local key, field, now, lives = KEYS[1], 'worker:' .. ARGV[1], tonumber(ARGV[3]), tonumber(ARGV[5])

if redis.call('TYPE', key).ok ~= 'hash' then
  redis.call('DEL', key)
end
local known = redis.call('HEXISTS', key, field)

-- Workers that have gone leave their field behind.
local all = redis.call('HGETALL', key)
for place = 1, #all, 2 do
  if string.sub(all[place], 1, 7) == 'worker:' and (tonumber(all[place + 1]) or 0) < now - 2 * lives then
    redis.call('HDEL', key, all[place])
  end
end

redis.call('HSET', key, 'at', ARGV[2], 'at_ms', ARGV[3], 'worker', ARGV[1], 'version', ARGV[4], field, ARGV[3])
redis.call('PEXPIRE', key, lives)
return known
