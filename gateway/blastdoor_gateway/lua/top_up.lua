-- Grants a tenant more (or, below zero, less) in one day or month. The same id grants once.
--
-- ask: now, id, tokens, window ('day' or 'month')

local fresh = redis.call('HSETNX', key.topups, 'id:' .. ask.id, written(ask.tokens))
if fresh == 1 then
  redis.call('HINCRBY', key.topups, '#', written(ask.tokens))
end
redis.call('PEXPIRE', key.topups, ask.window == 'day' and DAY_LIVES or MONTH_LIVES)
return answer({status = fresh == 1 and 'granted' or 'repeated', total = redis.call('HGET', key.topups, '#')})
