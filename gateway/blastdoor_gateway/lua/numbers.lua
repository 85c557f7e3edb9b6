-- Whole numbers. Lua counts in doubles, which are exact up to 2^53; what goes beyond is no number here.

local MOST = 2 ^ 53

-- Text as a whole number, nil for anything else.
local function whole(text)
  if type(text) ~= 'string' or not string.find(text, '^%-?%d+$') then
    return nil
  end
  local number = tonumber(text)
  return math.abs(number) <= MOST and number or nil
end

-- A whole number as text. Lua's own way would write large ones as 1e+15; Redis' way with the arguments of a command does
-- not, so numbers go there as they are.
local function written(number)
  return string.format('%.0f', number)
end

-- Sets a key to a number for some time.
local function put(key, number, lives)
  redis.call('SET', key, number, 'PX', lives)
end

-- What tokens cost at a price in nano-units per million, rounded up. The price is split, so that no product passes 2^53:
-- 1,000 tokens at 2,000,000,001 are 1,000 * 2,000 + ceil(1,000 * 1 / 1e6) = 2,000,001.
local function cost(tokens, price)
  local high = math.floor(price / 1000000)
  return tokens * high + math.ceil(tokens * (price - high * 1000000) / 1000000)
end
