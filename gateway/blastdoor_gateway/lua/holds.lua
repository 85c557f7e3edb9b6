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

-- Gives back what a lease holds. A lease that is not there any more has been given back already.
local function release(key, lease)
  if redis.call('ZREM', key, lease) == 0 then
    return
  end
  local amount, day = string.match(lease, '^(%d+)|([^|]*)|')
  for _, window in ipairs({'', day, string.sub(day, 1, 7)}) do
    if tonumber(redis.call('ZINCRBY', key, tonumber(amount), '#' .. window)) == 0 then
      redis.call('ZREM', key, '#' .. window)
    end
  end
end

-- Gives back the leases whose callers have died. A key of another type is damage and goes.
local function sweep(key, now)
  local ended = redis.pcall('ZRANGEBYSCORE', key, '(0', now, 'LIMIT', 0, SWEEP)
  if ended.err then
    redis.call('DEL', key)
    return
  end
  for _, lease in ipairs(ended) do
    release(key, lease)
  end
end

-- What a scope holds when a call asks for `lease`: all, in its day and in its month, which are the members `of_day` and
-- `of_month`; `mine`: the call has it already, because it asks again, and then it stands in nobody's way but its own.
local function look(key, lease, of_day, of_month)
  local scores = redis.call('ZMSCORE', key, lease, '#', of_day, of_month)
  return {
    key = key, lease = lease, mine = scores[1] and true, of_day = of_day, of_month = of_month,
    all = 0 - (tonumber(scores[2]) or 0), day = 0 - (tonumber(scores[3]) or 0), month = 0 - (tonumber(scores[4]) or 0),
  }
end

-- Takes the lease that was looked at, until `ends`, and keeps its totals, in one command.
local function hold(seen, amount, ends)
  local more = seen.mine and 0 or amount
  redis.call(
    'ZADD', seen.key, ends, seen.lease, -seen.all - more, '#', -seen.day - more, seen.of_day, -seen.month - more,
    seen.of_month
  )
  redis.call('PEXPIRE', seen.key, HOLDS_LIVE)
end
