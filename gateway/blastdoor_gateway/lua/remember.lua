-- Keeps an answer under each key of its question, for some time.
--
-- ask: answer, lives (ms)

for _, name in ipairs({'answer_same', 'answer_near'}) do
  if key[name] then
    redis.call('SET', key[name], ask.answer, 'PX', written(ask.lives))
  end
end
return answer({status = 'kept'})
