-- What calls under way have reserved in a scope: one sorted set.
--
--   member `AMOUNT|DAY|ID`   a lease; its score is the instant at which it ends if nobody settles it
--   member `#`               minus what all leases hold together
--   member `#2026-08-13`, `#2026-08`   the same for leases taken in that day, in that month
--
-- Leases and their totals are in one key, so that they cannot be lost one without the other. Totals have scores below
-- zero, so a range of instants never meets them. Example: a call of 100 tokens taken on 13 August, until 1786600600000:
--   1786600600000 `100|2026-08-13|r1`, -100 `#`, -100 `#2026-08-13`, -100 `#2026-08`

local SWEEP = 1000 -- leases that end within one call at most; what is left is counted as held and waits for the next

-- What is held: window '' is all of it.
local function held(key, window)
  return 0 - (tonumber(redis.call('ZSCORE', key, '#' .. window)) or 0)
end

local function change(key, window, amount)
  if tonumber(redis.call('ZINCRBY', key, written(-amount), '#' .. window)) == 0 then
    redis.call('ZREM', key, '#' .. window)
  end
end

local function change_all(key, day, amount)
  change(key, '', amount)
  change(key, day, amount)
  change(key, string.sub(day, 1, 7), amount)
end

-- Gives back what a lease holds. A lease that is not there any more has been given back already.
local function release(key, lease)
  if redis.call('ZREM', key, lease) == 1 then
    local amount, day = string.match(lease, '^(%d+)|([^|]*)|')
    change_all(key, day, -tonumber(amount))
  end
end

-- Gives back the leases whose callers have died. A key of another type is damage and goes.
local function sweep(key, now)
  local ended = redis.pcall('ZRANGEBYSCORE', key, '(0', written(now), 'LIMIT', 0, SWEEP)
  if ended.err then
    redis.call('DEL', key)
    return
  end
  for _, lease in ipairs(ended) do
    release(key, lease)
  end
end

local function is_held(key, lease)
  return redis.call('ZSCORE', key, lease) ~= false
end

-- Takes a lease until `ends`. The same lease again is renewed and holds nothing more.
local function hold(key, amount, day, id, now, ends)
  local lease = written(amount) .. '|' .. day .. '|' .. id
  if not is_held(key, lease) then
    change_all(key, day, amount)
  end
  redis.call('ZADD', key, written(ends), lease)
  local lives = ends - now + 60000
  if redis.call('PTTL', key) < lives then
    redis.call('PEXPIRE', key, written(lives))
  end
end
