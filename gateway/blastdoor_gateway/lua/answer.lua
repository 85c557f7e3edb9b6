-- How a script answers: a flat list, name, text, name, text, …

local function answer(fields)
  local list = {}
  for name, value in pairs(fields) do
    list[#list + 1] = name
    list[#list + 1] = type(value) == 'number' and written(value) or tostring(value)
  end
  return list
end
