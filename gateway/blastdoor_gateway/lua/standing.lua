-- How a tenant stands in its day and month: used + held + remaining = granted, always. Below zero remaining: a call used
-- more than it had reserved.
--
-- ask: now, day, month, day_limit, month_limit (absent: no limit), floors

sweep(key.held_tenant, now)
local found = {status = 'standing'}
for window, lives in pairs({day = DAY_LIVES, month = MONTH_LIVES}) do
  local counts = 'budget_' .. window
  found['used_' .. window] = counted_in(key[counts], number_at(key[counts]), ask.floors[counts] or 0, lives)
  found['held_' .. window] = held(key.held_tenant, ask[window])
  if ask[window .. '_limit'] then
    found['granted_' .. window] = ask[window .. '_limit'] + top_ups(key['topups_' .. window])
  end
end
return answer(found)
