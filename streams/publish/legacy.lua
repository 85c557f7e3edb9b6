-- Writes the two numbers a v6 gate reads, together or not at all.
--
-- KEYS[1]  balance_at_sync
-- KEYS[2]  usage_at_sync
-- KEYS[3]  a hash of ours: what we wrote last, and with which score
-- KEYS[4…] the daily_usage keys of the gate's day that are known
-- ARGV[1]  score of the decision, as in decision.lua
-- ARGV[2]  ceiling: what both numbers add up to if gates count everything; 0 closes
-- ARGV[3]  used: our own count of the day
-- ARGV[4]  apart: the part of it known to stand in no daily_usage key
-- ARGV[5]  balance: the newest reading
-- ARGV[6]  the sum of daily_usage keys that are too many to be passed one by one
-- ARGV[7]  when the numbers end, in ms of this server's clock
-- ARGV[8]  or, where that is 0, how long they live in ms
-- ARGV[9]  how long KEYS[3] lives in ms
--
-- Returns {outcome, what gates counted, keys a stranger wrote}; outcome is 'written' or 'closed' (the end has passed: both
-- keys are taken away). Or {'refused', score held, {}}: Redis holds the numbers of a newer decision.

local balance_key, usage_key, mark = KEYS[1], KEYS[2], KEYS[3]
local score = ARGV[1]

-- The same arithmetic as rules/legacy.py, here so that the sum and the numbers belong to one instant.
local function counted()
  local sum = tonumber(ARGV[6])
  for first = 4, #KEYS, 1000 do
    for _, text in ipairs(redis.call('MGET', unpack(KEYS, first, math.min(first + 999, #KEYS)))) do
      local tokens = text and tonumber(text)
      if tokens and tokens == tokens and math.abs(tokens) < 2 ^ 53 then
        sum = sum + math.floor(tokens)
      end
    end
  end
  return sum
end

local function whole(number)
  return string.format('%.0f', number)
end

local function written_last()
  if redis.call('TYPE', mark).ok ~= 'hash' then
    redis.call('DEL', mark)
    return {}
  end
  local last = redis.call('HMGET', mark, 'score', 'balance', 'usage')
  return last[1] and #last[1] == 33 and string.find(last[1], '^000%d+%-%d+$') and last or {}
end

local last = written_last()
if last[1] and last[1] > score then
  return {'refused', last[1], {}}
end

-- A number that is there and is not the one we wrote last comes from another writer. No mark: nothing to compare with.
local strangers = {}
for place, key in ipairs({balance_key, usage_key}) do
  local found = redis.pcall('GET', key)
  if found and last[place + 1] and found ~= last[place + 1] then
    strangers[#strangers + 1] = key
  end
end

local sum = counted()
local time = redis.call('TIME')
local now = tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)
local ends = tonumber(ARGV[7])
if ends == 0 then
  ends = now + tonumber(ARGV[8])
end
if ends <= now then
  redis.call('DEL', balance_key, usage_key)
  return {'closed', whole(sum), strangers}
end

local uncounted = math.max(0, tonumber(ARGV[4]), tonumber(ARGV[3]) - sum)
local total = math.max(0, tonumber(ARGV[2]) - uncounted)
local balance = whole(math.min(math.max(0, tonumber(ARGV[5])), total))
local usage = whole(total - tonumber(balance))
redis.call('SET', balance_key, balance, 'PXAT', whole(ends))
redis.call('SET', usage_key, usage, 'PXAT', whole(ends))
redis.call('HSET', mark, 'score', score, 'balance', balance, 'usage', usage)
redis.call('PEXPIRE', mark, ARGV[9])
return {'written', whole(sum), strangers}
