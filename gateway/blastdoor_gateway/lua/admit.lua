-- Admits a call or refuses it. All layers are asked first, in order, and the first refusal wins; only when none refuses
-- is anything taken. So a refused call consumes nothing anywhere.
--
-- It stands in the way of every call, so it is asked by place, not by name, and is written in one piece: what is read
-- out of JSON, or put into a table or a function first, costs more here than all of Redis' commands together. What few
-- calls need (bans, top-ups, decisions that say anything but `allow`) is looked at only where it is.
--
-- KEYS, ARGV: in the order below, which is that of admit_call.py. The first key never exists: it stands wherever a key
-- does not concern this call, so that what is read there is nothing. CALL and RULES are numbers as Lua keeps them
-- (doubles, low byte first), infinite where there is no limit: CALL what this call has of its own, RULES what it has in
-- common with others.
-- Answers: status `answered` (from the cache), `refused`, or `counters` (nothing was done: ask again with the counters
-- told) by name; `admitted` by place, as at the end.

local nobody, seen_key, own_model_today, own_model_yesterday, own_tenant_today, own_tenant_yesterday, own_global_today,
  own_global_yesterday, budget_day, budget_month, budget_global, rate_ip, rate_user, topups_day, topups_month,
  held_tenant, held_model, held_global, quota, settled, answer_same, answer_near = unpack(KEYS)

-- tail: of this call's leases (see holds.lua), without the amount; today, yesterday: days; over, unknown, stale: what the
-- operator chose; counter_*: the engine's counters for which own_* keys are given; then keys that are only read, the last
-- three of bans of the address.
local CALL, tail, RULES, today, yesterday, over, unknown, stale, basis, priced, counter_model, counter_tenant,
  counter_global, decision_model, decision_tenant, decision_global, decision_user, heartbeat, ban_1, ban_2, ban_3 =
  unpack(ARGV)

-- reserve: tokens; floor_*: see budget.lua.
local given_now, reserve, floor_day, floor_month, floor_global = struct.unpack('<ddddd', CALL)
-- Times in ms, emission in µs (see rate.lua), spend_limit in nano-units, prices in nano-units per million tokens.
local lease, day_ends, month_ends, day_limit, month_limit, ip_emission, ip_burst, user_emission, user_burst,
  stale_after, stale_grace, spend_limit, price_input, price_output, price_cached =
  struct.unpack('<ddddddddddddddd', RULES)

local now = clock(given_now)
local found = redis.call(
  'MGET', seen_key, own_model_today, own_model_yesterday, own_tenant_today, own_tenant_yesterday, own_global_today,
  own_global_yesterday, budget_day, budget_month, budget_global, rate_ip, rate_user, settled, answer_same, answer_near
)
local model, global = decision_model ~= nobody and decision_at(decision_model, now), decision_at(decision_global, now)
local tenant, user = nil, nil
local is_rare =
  redis.call('EXISTS', decision_tenant, decision_user, topups_day, topups_month, ban_1, ban_2, ban_3) > 0
if is_rare then
  tenant, user = decision_at(decision_tenant, now), decision_at(decision_user, now)
end
local is_plain = not is_rare and (not model or model.plain) and (not global or global.plain)

local function refuse(layer, rule, fields)
  fields.status, fields.layer, fields.rule = 'refused', layer, rule
  fields.action = fields.action or 'reject'
  return answer(fields)
end

local function refuse_as_told(layer, decision, fields)
  fields.reason = decision.reason
  fields.wait = decision.ends < math.huge and decision.ends - now or nil
  return refuse(layer, decision.rule or '', fields)
end

-- What has been used in the engine's counter, with what others hold. The same call asking again does not stand in its
-- own way.
local function used_in(decision, today_key, own_today, yesterday_key, own_yesterday, held, amount)
  return decision.counted + unknown_of(today_key, whole(own_today) or 0, decision, today)
    + unknown_of(yesterday_key, whole(own_yesterday) or 0, decision, yesterday)
    + held.all - (held.mine and amount or 0)
end

-- The caller guessed which counters the engine has; where it was wrong its keys are those of another counter.
local model_counts = model and model.live and own_model_today ~= nobody
local tenant_counts = tenant and tenant.live and own_tenant_today ~= nobody
local global_counts = global and global.live and own_global_today ~= nobody
if model_counts and model.counter ~= counter_model or tenant_counts and tenant.counter ~= counter_tenant
  or global_counts and global.counter ~= counter_global then
  return answer({
    status = 'counters', model = model and model.counter or '', tenant = tenant and tenant.counter or '',
    global = global and global.counter or '',
  })
end

-- An id that has been settled: its tokens would never be counted. '0': cancelled, and it comes again.
local was_settled = found[13]
if was_settled and was_settled ~= '0' then
  return refuse('request', 'request-id-reused', {})
end

-- Layer 0: what cannot be understood, the kill switch, bans.
if not is_plain then
  local scopes = {'global', 'tenant', 'user', 'model'}
  local heard = {global or false, tenant or false, user or false, model or false}
  for place, decision in ipairs(heard) do
    if decision and decision.fault then
      return refuse('kill', decision.fault, {scope = scopes[place]})
    end
    if decision and decision.binding and decision.action == 'kill' then
      return refuse_as_told('kill', decision, {})
    end
  end
  local bans = {user or nil}
  for _, key in ipairs(is_rare and {ban_1, ban_2, ban_3} or {}) do
    bans[#bans + 1] = decision_at(key, now)
  end
  for _, ban in ipairs(bans) do
    if ban.fault then
      return refuse('kill', ban.fault, {scope = 'ip'})
    end
    if ban.binding and (ban.action == 'kill' or ban.action == 'block') then
      return refuse_as_told('kill', ban, {})
    end
    if ban.binding and ban.action == 'degrade' then
      return refuse_as_told('kill', ban, {action = 'degrade'})
    end
  end
end

-- Layer 1: how often an address and a user may call. A call that asks again has paid already.
local of_day, of_month, of_tenant, of_model = '#' .. today, '#' .. string.sub(today, 1, 7), nil, nil
if held_tenant ~= nobody then
  sweep(held_tenant, now)
  of_tenant = look(held_tenant, reserve .. tail, of_day, of_month)
end
if held_model ~= nobody then
  sweep(held_model, now)
  of_model = look(held_model, reserve .. tail, of_day, of_month)
end
local wait, ip_after, user_after
if not (of_tenant and of_tenant.mine or of_model and of_model.mine) then
  if rate_ip ~= nobody then
    wait, ip_after = rate_of(whole(found[11]) or 0, ip_emission, ip_burst, now * 1000)
    if wait > 0 then
      return refuse('rate', 'per-ip', {wait = math.ceil(wait / 1000)})
    end
  end
  if rate_user ~= nobody then
    wait, user_after = rate_of(whole(found[12]) or 0, user_emission, user_burst, now * 1000)
    if wait > 0 then
      return refuse('rate', 'per-user', {wait = math.ceil(wait / 1000)})
    end
  end
end

-- Layer 2: a tenant's budget. The engine's word where it speaks, else the gate's own limits by day and month. What is
-- beyond is refused, answered otherwise, or let pass with a warning.
local remaining, warnings, used_day, used_month = math.huge, '', false, false
if tenant and tenant.binding then
  local action = tenant.action
  if action == 'block' or action == 'unknown' and unknown == 'closed' then
    return refuse_as_told('budget', tenant, {})
  end
  if action == 'degrade' then
    return refuse_as_told('budget', tenant, {action = 'degrade'})
  end
end
if of_tenant then
  local mine = of_tenant.mine and reserve or 0
  used_day = counted_in(budget_day, whole(found[8]) or 0, floor_day, DAY_LIVES)
  used_month = counted_in(budget_month, whole(found[9]) or 0, floor_month, MONTH_LIVES)
  local by_day, by_month = used_day + of_tenant.day - mine, used_month + of_tenant.month - mine
  if tenant_counts and not tenant.ended then
    day_limit, month_limit = math.huge, math.huge
  elseif is_rare then
    day_limit, month_limit = day_limit + top_ups(topups_day), month_limit + top_ups(topups_month)
  end
  local rule, fields
  if by_day + reserve > day_limit then
    rule, fields = 'daily-budget', {wait = day_ends - now, used = by_day, limit = day_limit}
    warnings = warnings .. rule .. ','
  else
    remaining = day_limit - by_day - reserve
  end
  if by_month + reserve > month_limit then
    fields = not rule and {wait = month_ends - now, used = by_month, limit = month_limit} or fields
    rule = rule or 'monthly-budget'
    warnings = warnings .. 'monthly-budget,'
  else
    remaining = math.min(remaining, month_limit - by_month - reserve)
  end
  if tenant_counts and not tenant.ended then
    local used =
      used_in(tenant, own_tenant_today, found[4], own_tenant_yesterday, found[5], of_tenant, reserve)
    if used + reserve > tenant.ceiling then
      local base = tenant.counted - (tenant.used or tenant.counted)
      rule, fields = 'tenant-budget', {used = used - base, limit = tenant.ceiling - base}
      fields.wait = tenant.ends < math.huge and tenant.ends - now or nil
      warnings = warnings .. rule .. ','
    else
      remaining = tenant.ceiling - used - reserve
    end
  end
  if rule and over ~= 'warn' then
    fields.action = over == 'degrade' and 'degrade' or 'reject'
    return refuse('budget', rule, fields)
  end
end

-- Layer 3: an answer given to the same question a short while ago.
local kept = found[14] or found[15]
local function take_rates()
  if ip_after then
    put_rate(rate_ip, ip_after, now * 1000)
  end
  if user_after then
    put_rate(rate_user, user_after, now * 1000)
  end
end
if kept then
  take_rates()
  local likeness = found[14] and 'same' or 'near'
  return answer({status = 'answered', layer = 'cache', rule = likeness, action = 'proceed', answer = kept})
end

-- Layer 4: what the engine allows a model. A decision that has ended by itself says no more what is to be done, but
-- its ceiling stands in a counter that never resets: it is compared until the engine speaks again.
local silence, model_used = 0, nil
if decision_model ~= nobody and not model and unknown == 'closed' then
  return refuse('model', 'no-decision', {wait = 5000})
end
if model then
  local action = model.binding and model.action
  if action == 'block' or action == 'unknown' and unknown == 'closed' then
    return refuse_as_told('model', model, {used = model.used, limit = model.limit})
  end
  if action == 'degrade' then
    return refuse_as_told('model', model, {action = 'degrade'})
  end
  if model_counts then
    model_used = used_in(model, own_model_today, found[2], own_model_yesterday, found[3], of_model, reserve)
    if model_used + reserve >= model.ceiling then
      local base = model.counted - (model.used or model.counted) -- numbers of the day are for people
      return refuse('model', 'model-limit', {wait = 60000, used = model_used - base, limit = model.ceiling - base})
    end
    remaining = math.min(remaining, model.ceiling - model_used - reserve)
  end
  -- How long the engine has been silent; 0 while its heartbeat is fresh. The clock of that runs in Redis, so that a
  -- gateway that was started again does not begin anew.
  local beat, last = whole(redis.pcall('HGET', heartbeat, 'at_ms')), whole(found[1])
  local is_fresh = beat and now - beat <= stale_after
  if is_fresh and (not last or last < beat) or not last then
    put(seen_key, is_fresh and beat or now, OWN_LIVES)
  end
  silence = is_fresh and 0 or math.max(1, now - (last or now))
  if silence > stale_grace and stale == 'closed' then
    return refuse('model', 'engine-silent', {wait = 5000})
  end
end

-- Layer 4, too: what a day may cost. Money is reserved, so what comes on top is at most one call's estimate being low.
local of_global, money, used_spend, free = nil, false, false, 0
local global_binds = global_counts and not global.ended
if held_global ~= nobody then
  local action = global and global.binding and global.action
  if action == 'block' or action == 'degrade' then
    return refuse_as_told('spend', global, {action = action == 'degrade' and 'degrade' or 'reject'})
  end
end
if held_global ~= nobody and (global_binds or spend_limit < math.huge) then
  if model and next(model.prices) then
    local prices = model.prices
    price_input, price_output, priced = prices.input or 0, prices.output or 0, 'engine'
    price_cached = prices.cached_input or price_input
  end
  -- Of the reserved tokens those that cost nothing: with basis `charged` those within the free pool.
  if (model and model.basis or basis) == 'charged' and model_used and model.pool_low then
    local pool = model.pool_low + model.counted - (model.used or model.counted)
    free = math.min(reserve, math.max(0, pool - model_used))
  end
  -- Input and output are not told apart before the call: the dearer one is reserved.
  money = cost(reserve - free, math.max(price_input, price_output))
  used_spend = counted_in(budget_global, whole(found[10]) or 0, floor_global, DAY_LIVES)
  sweep(held_global, now)
  of_global = look(held_global, written(money) .. tail, of_day, of_month)
  local used, limit
  if global_binds then
    used = used_in(global, own_global_today, found[6], own_global_yesterday, found[7], of_global, money)
    limit = global.ceiling
  else
    used, limit = used_spend + of_global.day - (of_global.mine and money or 0), spend_limit
  end
  if used + money > limit then
    return refuse('spend', 'daily-spend', {wait = day_ends - now, used = used, limit = limit})
  end
end

-- Nobody refuses: now everything is taken.
take_rates()
local ends = now + lease
if of_tenant then
  hold(of_tenant, reserve, ends)
end
if of_model then
  hold(of_model, reserve, ends)
end
if of_global then
  hold(of_global, money, ends)
end
if was_settled then
  redis.call('DEL', settled) -- a cancelled call that comes again
end
if quota ~= nobody then
  put(quota, used_day + of_tenant.day + (of_tenant.mine and 0 or reserve), 48 * 3600 * 1000)
end
for _, decision in ipairs(is_plain and NONE or {model or false, global or false, tenant or false, user or false}) do
  if decision and decision.binding and decision.action == 'warn' then
    warnings = warnings .. decision.rule .. ','
  end
end
return {
  'admitted', warnings, remaining < math.huge and remaining, silence, used_day, used_month, used_spend, money, free,
  money and priced, money and price_input or 0, money and price_output or 0, money and price_cached or 0,
  model and model.limit or false,
}
