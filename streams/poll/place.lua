-- Remembers a poll for whoever asks next, unless a later holder of the lease has already remembered one.
--
-- KEYS[1]  the place
-- ARGV[1]  fencing number         ARGV[2]  the place as JSON         ARGV[3]  how long it lives, in ms
--
-- Returns 1 if it was written, 0 if a newer holder was there before.

if tonumber(redis.call('HGET', KEYS[1], 'fence') or '0') > tonumber(ARGV[1]) then return 0 end
redis.call('HSET', KEYS[1], 'fence', ARGV[1], 'polled', ARGV[2])
redis.call('PEXPIRE', KEYS[1], ARGV[3])
return 1
