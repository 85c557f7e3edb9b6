-- A decision of the engine, read from its hash.

local SCHEMA = 1 -- the highest this script knows, as in contract.py
local FIELDS = {
  'schema', 'action', 'rule', 'reason', 'until', 'mode', 'limit', 'used', 'counted', 'ceiling', 'counter',
  'counted_gate', 'pool_low', 'prices', 'basis',
}
local NUMBERS = {'limit', 'used', 'counted', 'ceiling', 'pool_low'}
local ACTIONS = {allow = true, warn = true, degrade = true, block = true, kill = true, unknown = true}

-- An object of whole numbers; nil if it is anything else.
local function counts(text)
  if not text or text == '{}' then
    return {}
  end
  local fine, found = pcall(cjson.decode, text)
  if not fine or type(found) ~= 'table' then
    return nil
  end
  for name, number in pairs(found) do
    if type(name) ~= 'string' or type(number) ~= 'number' or number % 1 ~= 0 or math.abs(number) > MOST then
      return nil
    end
  end
  return found
end

-- What is wrong with a hash, nil if nothing is. Its fields become values on the way.
local function fault(found, now)
  if not whole(found.schema) then
    return 'damaged-decision'
  end
  if tonumber(found.schema) > SCHEMA then
    return 'unknown-schema'
  end
  for _, name in ipairs(NUMBERS) do
    local number = whole(found[name])
    if found[name] and not number then
      return 'damaged-decision'
    end
    found[name] = number
  end
  found.counted_gate, found.prices = counts(found.counted_gate), counts(found.prices)
  local ends = not found['until'] and math.huge or instant(found['until'])
  if not (ACTIONS[found.action] and found.counted_gate and found.prices and ends) then
    return 'damaged-decision'
  end
  found.ends, found.ended = ends, ends <= now
end

-- The decision at a key, nil where there is none (or no key). `fault` says why it cannot be understood; nothing of it
-- is used then. `ended`: it has ended by itself. `binding`: what it says is to be done.
local function decision_at(key, now)
  if not key then
    return nil
  end
  local values = redis.pcall('HMGET', key, unpack(FIELDS))
  if values.err then
    return {fault = 'damaged-decision', counter = ''}
  end
  local found, any = {}, false
  for place, name in ipairs(FIELDS) do
    found[name] = values[place] or nil
    any = any or found[name] ~= nil
  end
  if not any then
    return nil
  end
  found.fault = fault(found, now)
  found.counter = found.counter or ''
  found.binding = not found.fault and not found.ended and found.mode ~= 'observe'
  return found
end
