-- A decision of the engine, read from its hash.

local SCHEMA = 1 -- the highest this script knows, as in contract.py
local ACTIONS = {allow = true, warn = true, degrade = true, block = true, kill = true, unknown = true}

local NONE = {}

-- An object of whole numbers; nil if it is anything else.
local function counts(text)
  if not text or text == '{}' then
    return NONE
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

-- The decision at a key, nil where there is none (or no key).
--
-- `fault` says why it cannot be understood; nothing of it is used then. `ended`: it has ended by itself. `binding`: what
-- it says is to be done. `live`: its counter is to be compared with its ceiling. `plain`: it says `allow`, as most do;
-- only the others have a `rule` and a `reason`.
local function decision_at(key, now)
  if not key then
    return nil
  end
  local values = redis.pcall(
    'HMGET', key, 'schema', 'action', 'until', 'mode', 'limit', 'used', 'counted', 'ceiling', 'counter', 'counted_gate',
    'pool_low', 'prices', 'basis'
  )
  if values.err then
    return {fault = 'damaged-decision', counter = ''}
  end
  local schema, action, ends, mode, limit, used, counted, ceiling, counter, counted_gate, pool_low, prices, basis =
    unpack(values)
  if not schema and not action and redis.call('EXISTS', key) == 0 then
    return nil
  end
  local version = whole(schema)
  if version and version > SCHEMA then
    return {fault = 'unknown-schema', counter = ''}
  end
  local limits, uses, counts_to, ends_at, pool = whole(limit), whole(used), whole(counted), whole(ceiling), whole(pool_low)
  counted_gate, prices, ends = counts(counted_gate), counts(prices), not ends and math.huge or instant(ends)
  if not (version and ACTIONS[action] and ends and counted_gate and prices) or limit and not limits or used and not uses
    or counted and not counts_to or ceiling and not ends_at or pool_low and not pool then
    return {fault = 'damaged-decision', counter = ''}
  end
  local binds = mode ~= 'observe'
  local found = {
    action = action, ends = ends, ended = ends <= now, binding = binds and ends > now, plain = action == 'allow',
    live = binds and counts_to and ends_at and true, limit = limits, used = uses, counted = counts_to, ceiling = ends_at,
    counter = counter or '', counted_gate = counted_gate, pool_low = pool, prices = prices, basis = basis or nil,
  }
  if not found.plain then
    local words = redis.call('HMGET', key, 'rule', 'reason')
    found.rule, found.reason = words[1] or '', words[2] or nil
  end
  return found
end
