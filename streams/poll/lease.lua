-- Takes, keeps or gives back the right to ask a provider.
--
-- KEYS[1]  who holds it           KEYS[2]  how often it has changed hands: the fencing number
-- ARGV[1]  the asker              ARGV[2]  how long it holds, in ms; 0 gives it back
--
-- Returns the fencing number while the asker holds the lease, else 0.

local holder = redis.call('GET', KEYS[1])
if ARGV[2] == '0' then
  if holder == ARGV[1] then redis.call('DEL', KEYS[1]) end
  return 0
end
if holder == ARGV[1] then
  redis.call('PEXPIRE', KEYS[1], ARGV[2])
  return tonumber(redis.call('GET', KEYS[2]) or '0')
end
if holder then return 0 end
redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])
return redis.call('INCR', KEYS[2])
