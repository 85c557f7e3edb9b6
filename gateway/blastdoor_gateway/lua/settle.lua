-- Replaces what a call had reserved by what it used; 0 tokens: the call did not take place. What was used is counted
-- whatever the limits say.
--
-- ask: now, id, tokens, money (nano-units), day (on which the reservation was taken), leases {tenant, model, global},
--      own_day (on which the call ended: its event says the same), counters {model, tenant, global}, floors, lives (ms
--      that a repetition is recognised)
-- Answers: status `settled`, or `repeated` (nothing was done).
--
-- A cancelled call may still be settled: somebody gave up waiting, and then the usage came after all.

local before = redis.pcall('GET', key.settled)
if before and (before ~= '0' or ask.tokens == 0) then
  return answer({status = 'repeated'})
end
put(key.settled, ask.tokens, ask.lives)

for name, lease in pairs(ask.leases) do
  sweep(key['held_' .. name], now)
  release(key['held_' .. name], lease)
end

-- The engine will count this call, too, when its event arrives. Without a decision and without a number of our own
-- there is nothing to add to: what stood there before is known to the engine alone, and comes back with its word.
local function count_for_engine(name, amount)
  local own = key['own_' .. name]
  if not own then
    return
  end
  local decision = decision_at(key['decision_' .. name], now)
  if decision and not decision.fault and decision.counter == ask.counters[name] then
    own_of(own, number_at(own), decision, ask.own_day)
  elseif redis.call('EXISTS', own) == 0 then
    return
  end
  add(own, amount, OWN_LIVES)
end

local found = {status = 'settled'}

local function count_in(name, lives, amount, tell)
  if key[name] then
    local after = counted_in(key[name], number_at(key[name]), ask.floors[name] or 0, lives) + amount
    if amount > 0 then
      put(key[name], after, lives)
    end
    found[tell] = after
  end
end

count_in('budget_day', DAY_LIVES, ask.tokens, 'used_day')
count_in('budget_month', MONTH_LIVES, ask.tokens, 'used_month')
count_in('budget_global', DAY_LIVES, ask.money, 'used_spend')
if ask.tokens > 0 then
  count_for_engine('model', ask.tokens)
  count_for_engine('tenant', ask.tokens)
end
if ask.money > 0 then
  count_for_engine('global', ask.money)
end

if key.daily_usage and ask.tokens > 0 then
  add(key.daily_usage, ask.tokens, 48 * 3600 * 1000)
  found.today = number_at(key.daily_usage)
  found.balance = number_at(key.balance_at_sync)
end
if key.quota then
  put(key.quota, found.used_day + held(key.held_tenant, ask.day), 48 * 3600 * 1000)
end
return answer(found)
