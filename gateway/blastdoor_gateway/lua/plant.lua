-- Puts a kill switch under a key of the self-test's own, for a minute.
--
-- ask: rule

redis.call('HSET', key.decision, 'schema', '1', 'action', 'kill', 'rule', ask.rule, 'reason', ask.rule)
redis.call('PEXPIRE', key.decision, '60000')
return answer({status = 'planted'})
