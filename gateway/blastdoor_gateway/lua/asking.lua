-- How a script is asked and how it answers. It comes after the files that only define functions.
--
-- ARGV[1] is a JSON object. `keys` names KEYS one by one, so that a key which does not concern this call is simply not
-- there; `reads` has by name the keys that are only read. The answer is a flat list: name, text, name, text, …

local ask = cjson.decode(ARGV[1])
local key = {}
for place, name in ipairs(ask.keys) do
  key[name] = KEYS[place]
end
for name, place in pairs(ask.reads) do
  key[name] = place
end
local now = clock(ask.now)

local BUDGET_LIVES = {day = 72 * 3600 * 1000, month = 40 * 24 * 3600 * 1000}

local function answer(fields)
  local list = {}
  for name, value in pairs(fields) do
    list[#list + 1] = name
    list[#list + 1] = type(value) == 'number' and written(value) or tostring(value)
  end
  return list
end

-- What guards counted in a window of a scope; `found` is what stands there. Redis may have lost it; what the caller has seen there before is then put
-- back, and is the same whoever does it: nothing is added up twice.
local function counted_in(name, window, found)
  local floor = ask.floors[name] or 0
  if found < floor then
    put(key[name], floor, BUDGET_LIVES[window])
    return floor
  end
  return found
end

local function top_ups(name)
  local total = redis.pcall('HGET', key[name], '#')
  return whole(total) or 0
end
