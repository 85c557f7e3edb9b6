-- Puts what was told of a counter in place of what was read before, unless another has been quicker.
--
-- KEYS[1]  the place of a day      ARGV[1]  the counter       ARGV[2]  what was read, empty for nothing
-- ARGV[3]  what is to stand there  ARGV[4]  how long the place lives, in ms
--
-- Returns 1 if it was written.

if (redis.call('HGET', KEYS[1], ARGV[1]) or '') ~= ARGV[2] then return 0 end
redis.call('HSET', KEYS[1], ARGV[1], ARGV[3])
redis.call('PEXPIRE', KEYS[1], ARGV[4])
return 1
