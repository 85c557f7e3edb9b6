-- How the scripts are asked that are not in the way of every call. It comes after the files that only define functions.
--
-- ARGV[1] is a JSON object. `keys` names KEYS one by one, so that a key which does not concern this call is simply not
-- there; `reads` has by name the keys that are only read.

local ask = cjson.decode(ARGV[1])
local key = {}
for place, name in ipairs(ask.keys) do
  key[name] = KEYS[place]
end
for name, place in pairs(ask.reads) do
  key[name] = place
end
local now = clock(ask.now)
