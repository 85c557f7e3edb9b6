-- Admits a call or refuses it. All layers are asked first, in order, and the first refusal wins; only when none refuses
-- is anything taken. So a refused call consumes nothing anywhere.
--
-- ask: now, id, day, month, day_ends, month_ends, days {today, yesterday}, reserve (tokens), lease (ms), floors,
--      counters {model, tenant, global} (the engine's counters for which own_* keys were given), rates {{name, emission,
--      burst}}, day_limit, month_limit, over, unknown, stale, stale_after, stale_grace (ms), price, assumed, basis,
--      spend_limit
-- Answers: status `admitted`, `answered` (from the cache), `refused`, or `counters` (nothing was done: ask again with
-- the counters told).

-- Plain values are read at once; what most calls do not have is asked for at once, too, and read only where it is.
local PLAIN = {own = true, budget = true, rate = true, settled = true, seen = true, answer = true}
local RARE = {'decision_tenant', 'decision_user', 'topups_day', 'topups_month'}

local plain = {}
local function read_plain()
  local names, places = {}, {}
  for place, name in ipairs(ask.keys) do
    if PLAIN[string.match(name, '^%a+')] then
      names[#names + 1], places[#places + 1] = name, KEYS[place]
    end
  end
  for place, value in ipairs(redis.call('MGET', unpack(places))) do
    plain[names[place]] = value
  end
end
read_plain()

local function number_of(name)
  return whole(plain[name]) or 0
end

local function any_rare()
  local places = {}
  for _, name in ipairs(RARE) do
    places[#places + 1] = key[name]
  end
  for place = 1, ask.addresses do
    places[#places + 1] = key['decision_ip_' .. place]
  end
  return #places > 0 and redis.call('EXISTS', unpack(places)) > 0
end

local rare = any_rare()
local told = {model = decision_at(key.decision_model, now), global = decision_at(key.decision_global, now)}
if rare then
  told.tenant, told.user = decision_at(key.decision_tenant, now), decision_at(key.decision_user, now)
end
local taken = {remaining = math.huge, warnings = {}}

local function refuse(layer, rule, fields)
  fields = fields or {}
  fields.status, fields.layer, fields.rule = 'refused', layer, rule
  fields.action = fields.action or 'reject'
  return fields
end

local function refuse_as_told(layer, decision, action)
  local wait = decision.ends < math.huge and decision.ends - now or nil
  return refuse(layer, decision.rule or '', {action = action, reason = decision.reason, wait = wait})
end

local function lease_of(amount)
  return written(amount) .. '|' .. ask.day .. '|' .. ask.id
end

-- What a scope holds, looked at once in a call.
local seen = {}
local function look_at(name, amount)
  if not seen[name] then
    sweep(key[name], now)
    seen[name] = look(key[name], lease_of(amount), ask.day)
  end
  return seen[name]
end

-- What others hold: `window` is all, day or month. The same call asking again does not stand in its own way.
local function held_by_others(name, window, amount)
  local found = look_at(name, amount)
  return found[window] - (found.mine and amount or 0)
end

-- Whether a decision's counter is to be compared with its ceiling.
local function is_live(decision)
  return decision and not decision.fault and decision.mode ~= 'observe' and decision.counted and decision.ceiling
end

local function keep_least(room)
  taken.remaining = math.min(taken.remaining, room)
end

-- What would have been used in the engine's counter with this call, and the ceiling it is compared with.
local function with_this_call(name, amount)
  local today, yesterday = 'own_' .. name .. '_today', 'own_' .. name .. '_yesterday'
  local owns = {number_of(today), number_of(yesterday)}
  local used = used_of(told[name], {key[today], key[yesterday]}, owns, ask.days)
  return used + held_by_others('held_' .. name, 'all', amount) + amount, told[name].ceiling
end

-- The caller guessed which counters the engine has; where it was wrong its keys are those of another counter.
local function wrong_counters()
  local wrong = false
  local found = {status = 'counters'}
  for _, name in ipairs({'model', 'tenant', 'global'}) do
    found[name] = told[name] and told[name].counter or ''
    local counts = key['held_' .. name] and is_live(told[name])
    wrong = wrong or (counts and told[name].counter ~= ask.counters[name])
  end
  return wrong and found or nil
end

-- An id that has been settled: its tokens would never be counted.
local function reused()
  if plain.settled and plain.settled ~= '0' then
    return refuse('request', 'request-id-reused')
  end
end

-- Layer 0: what cannot be understood, the kill switch, bans.
local function kill_layer()
  local heard = {told.global, told.tenant, told.user, told.model}
  local scopes = {'global', 'tenant', 'user', 'model'}
  for place, scope in ipairs(scopes) do
    local decision = told[scope]
    if decision and decision.fault then
      return refuse('kill', decision.fault, {scope = scope})
    end
    if decision and decision.binding and decision.action == 'kill' then
      return refuse_as_told('kill', decision)
    end
  end
  local bans = {told.user}
  for place = 1, rare and ask.addresses or 0 do
    bans[#bans + 1] = decision_at(key['decision_ip_' .. place], now)
  end
  for _, decision in pairs(bans) do
    if decision.fault then
      return refuse('kill', decision.fault, {scope = 'ip'})
    end
    if decision.binding and (decision.action == 'kill' or decision.action == 'block') then
      return refuse_as_told('kill', decision)
    end
    if decision.binding and decision.action == 'degrade' then
      return refuse_as_told('kill', decision, 'degrade')
    end
  end
end

-- Layer 1: how often an address and a user may call. A call that asks again has paid already.
local function rate_layer()
  taken.rates = {}
  local again = key.held_tenant and look_at('held_tenant', ask.reserve).mine
    or key.held_model and look_at('held_model', ask.reserve).mine
  for _, rate in ipairs(again and {} or ask.rates) do
    local wait, after = rate_of(number_of('rate_' .. rate.name), rate.emission, rate.burst, now * 1000)
    if wait > 0 then
      return refuse('rate', 'per-' .. rate.name, {wait = math.ceil(wait / 1000)})
    end
    taken.rates[#taken.rates + 1] = {key = key['rate_' .. rate.name], after = after}
  end
end

-- What a tenant has beyond its budget is refused, answered otherwise, or let pass with a warning.
local function over_budget(rule, fields)
  if ask.over == 'warn' then
    taken.warnings[#taken.warnings + 1] = rule
    return nil
  end
  fields.action = ask.over == 'degrade' and 'degrade' or 'reject'
  return refuse('budget', rule, fields)
end

local function window_check(window, limit, ends)
  local used = counted_in('budget_' .. window, window, number_of('budget_' .. window))
  taken['used_' .. window] = used
  if not limit then
    return nil
  end
  local granted = limit + (rare and top_ups('topups_' .. window) or 0)
  local with = used + held_by_others('held_tenant', window, ask.reserve) + ask.reserve
  if with > granted then
    local rule = window == 'day' and 'daily-budget' or 'monthly-budget'
    return over_budget(rule, {wait = ends - now, used = with - ask.reserve, limit = granted})
  end
  keep_least(granted - with)
end

-- Layer 2: a tenant's budget. The engine's word where it speaks, else the gate's own limits by day and month.
local function budget_layer()
  local decision = told.tenant
  if decision and decision.binding then
    if decision.action == 'block' or (decision.action == 'unknown' and ask.unknown == 'closed') then
      return refuse_as_told('budget', decision)
    end
    if decision.action == 'degrade' then
      return refuse_as_told('budget', decision, 'degrade')
    end
  end
  if not key.held_tenant then
    return nil
  end
  local by_engine = is_live(decision) and not decision.ended
  local refused = window_check('day', not by_engine and ask.day_limit, ask.day_ends)
    or window_check('month', not by_engine and ask.month_limit, ask.month_ends)
  if refused or not by_engine then
    return refused
  end
  local with, ceiling = with_this_call('tenant', ask.reserve)
  if with > ceiling then
    local base = decision.counted - (decision.used or decision.counted)
    local wait = decision.ends < math.huge and decision.ends - now or nil
    return over_budget('tenant-budget', {wait = wait, used = with - ask.reserve - base, limit = ceiling - base})
  end
  keep_least(ceiling - with)
end

-- Layer 3: an answer given to the same question a short while ago.
local function cache_layer()
  for _, likeness in ipairs({'same', 'near'}) do
    local found = plain['answer_' .. likeness]
    if found then
      return {status = 'answered', layer = 'cache', rule = likeness, action = 'proceed', answer = found}
    end
  end
end

-- How long the engine has been silent, in ms; 0 while its heartbeat is fresh. The clock of that runs in Redis, so that
-- a gateway that was started again does not begin anew.
local function engine_silence()
  local beat, last = whole(redis.pcall('HGET', key.heartbeat, 'at_ms')), whole(plain.seen)
  if beat and now - beat <= ask.stale_after then
    if not last or last < beat then
      put(key.seen, beat, OWN_LIVES)
    end
    return 0
  end
  if not last then
    put(key.seen, now, OWN_LIVES)
  end
  return math.max(1, now - (last or now))
end

-- Numbers of a day for people, out of those of the engine's counter.
local function of_day(decision, with, ceiling)
  local base = decision.counted - (decision.used or decision.counted)
  return {used = with - ask.reserve - base, limit = ceiling - base}
end

-- Layer 4: what the engine allows a model. A decision that has ended by itself says no more what is to be done, but
-- its ceiling stands in a counter that never resets: it is compared until the engine speaks again.
local function model_layer()
  local decision = told.model
  if not key.decision_model then
    return nil
  end
  if not decision then
    return ask.unknown == 'closed' and refuse('model', 'no-decision', {wait = 5000}) or nil
  end
  if decision.binding then
    if decision.action == 'block' or (decision.action == 'unknown' and ask.unknown == 'closed') then
      local fields = refuse_as_told('model', decision)
      fields.used, fields.limit = decision.used, decision.limit
      return fields
    end
    if decision.action == 'degrade' then
      return refuse_as_told('model', decision, 'degrade')
    end
  end
  if is_live(decision) then
    local with, ceiling = with_this_call('model', ask.reserve)
    if with >= ceiling then
      local fields = of_day(decision, with, ceiling)
      fields.wait = 60000
      return refuse('model', 'model-limit', fields)
    end
    keep_least(ceiling - with)
    taken.model_with = with
  end
  local silence = engine_silence()
  taken.silence = silence
  if silence > ask.stale_grace and ask.stale == 'closed' then
    return refuse('model', 'engine-silent', {wait = 5000})
  end
end

-- Of the reserved tokens those that cost nothing: with basis `charged` those within the free pool.
local function free_tokens()
  local decision = told.model
  local basis = decision and decision.basis or ask.basis
  if basis ~= 'charged' or not taken.model_with or not decision.pool_low then
    return 0
  end
  local pool = decision.pool_low + decision.counted - (decision.used or decision.counted)
  return math.min(ask.reserve, math.max(0, pool - (taken.model_with - ask.reserve)))
end

-- Input and output are not told apart before the call: the dearer one is reserved.
local function price_of()
  local prices = told.model and next(told.model.prices) and told.model.prices or ask.price or ask.assumed
  taken.priced = told.model and next(told.model.prices) and 'engine' or ask.price and 'gate' or 'assumed'
  return prices
end

-- Layer 4, too: what a day may cost. Money is reserved, so what comes on top is at most one call's estimate being low.
local function spend_layer()
  local decision = told.global
  if not key.held_global then
    return nil
  end
  if decision and decision.binding and (decision.action == 'block' or decision.action == 'degrade') then
    return refuse_as_told('spend', decision, decision.action == 'degrade' and 'degrade' or 'reject')
  end
  local by_engine = is_live(decision) and not decision.ended
  if not by_engine and not ask.spend_limit then
    return nil
  end
  local prices, free = price_of(), free_tokens()
  local money = cost(ask.reserve - free, math.max(prices.input or 0, prices.output or 0))
  taken.prices, taken.free, taken.money = prices, free, money
  taken.used_spend = counted_in('budget_global', 'day', number_of('budget_global'))
  local fields = {wait = ask.day_ends - now, used = taken.used_spend, limit = ask.spend_limit}
  if by_engine then
    local with, ceiling = with_this_call('global', money)
    fields.used, fields.limit = with - money, ceiling
  else
    fields.used = fields.used + held_by_others('held_global', 'day', money)
  end
  if fields.used + money > fields.limit then
    return refuse('spend', 'daily-spend', fields)
  end
end

local function take_rates()
  for _, rate in ipairs(taken.rates) do
    put_rate(rate.key, rate.after, now * 1000)
  end
end

local function take_holds()
  local ends = now + ask.lease
  for _, name in ipairs({'held_tenant', 'held_model'}) do
    if key[name] then
      hold(look_at(name, ask.reserve), ask.reserve, ends)
    end
  end
  if taken.money then
    hold(look_at('held_global', taken.money), taken.money, ends)
  end
  if plain.settled then
    redis.call('DEL', key.settled) -- a cancelled call that comes again
  end
end

local function keep_legacy()
  if key.quota then
    local found = look_at('held_tenant', ask.reserve)
    put(key.quota, taken.used_day + found.day + (found.mine and 0 or ask.reserve), 48 * 3600 * 1000)
  end
end

local wrong = wrong_counters()
if wrong then
  return answer(wrong)
end

local refused = reused() or kill_layer() or rate_layer() or budget_layer()
if refused then
  return answer(refused)
end

local answered = cache_layer()
if answered then
  take_rates()
  return answer(answered)
end

refused = model_layer() or spend_layer()
if refused then
  return answer(refused)
end

take_rates()
take_holds()
keep_legacy()
for _, decision in pairs(told) do
  if decision.binding and decision.action == 'warn' then
    taken.warnings[#taken.warnings + 1] = decision.rule
  end
end
local prices = taken.prices or {}
return answer({
  status = 'admitted', action = 'proceed', warnings = table.concat(taken.warnings, ','),
  remaining = taken.remaining < math.huge and taken.remaining or '', silence = taken.silence or 0,
  used_day = taken.used_day or '', used_month = taken.used_month or '', used_spend = taken.used_spend or '',
  money = taken.money or '', free = taken.free or 0, priced = taken.priced or '', input = prices.input or 0,
  output = prices.output or 0, cached_input = prices.cached_input or prices.input or 0,
  limit = told.model and told.model.limit or '',
})
