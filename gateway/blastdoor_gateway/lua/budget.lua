-- What guards counted in the windows of a budget, and what an operator granted on top.

local DAY_LIVES = 72 * 3600 * 1000
local MONTH_LIVES = 40 * 24 * 3600 * 1000

-- What guards counted at a key; `found` is what stands there, `floor` the most that the caller has ever seen there.
-- Redis may have lost it; then the floor is put back, and is the same whoever does it: nothing is added up twice.
local function counted_in(key, found, floor, lives)
  if found < floor then
    put(key, floor, lives)
    return floor
  end
  return found
end

local function top_ups(key)
  return whole(redis.pcall('HGET', key, '#')) or 0
end
