-- What stands at a key, for scripts that look at one after the other. The one in the way of every call does not.

-- The whole number that stands at a key; 0 where there is none. What is no number is damage and counts as none.
local function number_at(key)
  return whole(redis.pcall('GET', key)) or 0
end

-- Adds to the number at a key. The first write and its end of life are one step.
local function add(key, amount, lives)
  put(key, number_at(key) + amount, lives)
end

-- What is held: window '' is all of it.
local function held(key, window)
  return 0 - (tonumber(redis.call('ZSCORE', key, '#' .. window)) or 0)
end
