-- Writes a decision's hash unless Redis holds a newer one.
--
-- KEYS[1]  the decision's key
-- ARGV[1]  its score: (epoch, n) as fixed-width text, so that comparing text compares versions
-- ARGV[2]  how long the key lives, in ms; 0: until somebody deletes it
-- ARGV[3]  the fields as one JSON list of text: field, value, field, value, … (sixty arguments would cost the engine
--          more time than everything else about a write)
--
-- Returns {outcome, score held before or ''}; outcome is 'written', 'same' (the same version again) or 'refused'.

local key, score, lives = KEYS[1], ARGV[1], tonumber(ARGV[2])

-- A key of another type, or a score no engine writes (13 digits of milliseconds last until 2286), is damage: it loses.
local held = redis.pcall('HGET', key, 'score')
if type(held) ~= 'string' or #held ~= 33 or not string.find(held, '^000%d+%-%d+$') then
  held = ''
end
if held > score then
  return {'refused', held}
end

-- The same version is written again, too: that mends a damaged hash and renews its life.
redis.call('DEL', key)
redis.call('HSET', key, 'score', score, unpack(cjson.decode(ARGV[3])))
if lives > 0 then
  redis.call('PEXPIRE', key, lives)
end
return {held == score and 'same' or 'written', held}
