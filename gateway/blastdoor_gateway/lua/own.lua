-- What guards counted by themselves in a scope, per day, in the engine's counter. The engine counts the same calls a
-- little later and says how far it has come: `counted_gate[day]`. The difference is what it does not know of yet.

local OWN_LIVES = 72 * 3600 * 1000

-- What guards counted on `day`; `own` is what stands at the key. It is never less than what the engine has of it: if
-- the key was lost, the rest comes back from there.
local function own_of(key, own, decision, day)
  local told = decision.counted_gate[day] or 0
  if own < told then
    put(key, told, OWN_LIVES)
    return told
  end
  return own
end

-- What guards counted on `day` and the engine does not know of yet.
local function unknown_of(key, own, decision, day)
  return own_of(key, own, decision, day) - (decision.counted_gate[day] or 0)
end
