-- Rates, by the generic cell rate algorithm. A key holds the instant (in µs) at which a caller that keeps to its rate
-- would have used up what it has used: the theoretical arrival time. At 10 a minute a call moves it by 6 s, and it may
-- be at most 10 times 6 s ahead: ten calls at once, then one every 6 s.

-- Whether one more call fits: how long it must wait (µs, 0: not at all) and where the arrival time would be then.
-- `before`: where it stands; `emission`: µs that one call takes; `burst`: how many fit at once.
local function rate_of(before, emission, burst, now)
  local most = emission * burst
  -- A time further ahead than any call can have moved it comes from a clock that was put back.
  local arrival = math.min(math.max(before, now), now + most)
  local after = arrival + emission
  return math.max(0, after - most - now), after
end

local function put_rate(key, after, now)
  put(key, after, math.ceil((after - now) / 1000))
end
