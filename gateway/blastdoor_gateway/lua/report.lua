-- Tells the engine how many calls a gate let through while Redis could not be asked.
--
-- ask: gate (name of the process), report (JSON), lives (ms)

redis.call('HSET', key.gates, ask.gate, ask.report)
redis.call('PEXPIRE', key.gates, written(ask.lives))
return answer({status = 'told'})
