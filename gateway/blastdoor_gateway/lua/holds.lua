-- What calls under way have reserved in a scope: one sorted set.
--
--   member `AMOUNT|DAY|ID`   a lease; its score is the instant at which it ends if nobody settles it
--   member `#`               minus what all leases hold together
--   member `#2026-08-13`, `#2026-08`   the same for leases taken in that day, in that month
--
-- Leases and their totals are in one key, so that they cannot be lost one without the other. Totals have scores below
-- zero, so a range of instants never meets them. Example: a call of 100 tokens taken on 13 August, until 1786600600000:
--   1786600600000 `100|2026-08-13|r1`, -100 `#`, -100 `#2026-08-13`, -100 `#2026-08`

local HOLDS_LIVE = 25 * 3600 * 1000 -- longer than any lease
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

-- What a scope holds when a call asks for `lease` on `day`: all, in the day, in its month; `mine`: the call has it already,
-- because it asks again, and then it stands in nobody's way but its own.
local function look(key, lease, day)
  local month = string.sub(day, 1, 7)
  local scores = redis.call('ZMSCORE', key, lease, '#', '#' .. day, '#' .. month)
  local function total(place)
    return 0 - (tonumber(scores[place]) or 0)
  end
  return {
    key = key, lease = lease, mine = scores[1] ~= false, names = {'#', '#' .. day, '#' .. month},
    all = total(2), day = total(3), month = total(4),
  }
end

-- Takes the lease that was looked at, until `ends`, and keeps its totals, in one command.
local function hold(seen, amount, ends)
  local more = seen.mine and 0 or amount
  local names = seen.names
  redis.call(
    'ZADD', seen.key, written(ends), seen.lease, written(-seen.all - more), names[1], written(-seen.day - more), names[2],
    written(-seen.month - more), names[3]
  )
  redis.call('PEXPIRE', seen.key, HOLDS_LIVE)
end
