-- Time. Everything here is in whole milliseconds since the epoch.

-- What the caller says (a test, a recording); 0: this server's own clock, which all gateways share.
local function clock(given)
  if given ~= 0 then
    return given
  end
  local time = redis.call('TIME')
  return tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)
end

-- RFC 3339 text as an instant, digits beyond milliseconds cut off; nil for anything else. The zone is 'Z', '+08:00' or
-- '-0330'. Years begin in March here, so that a leap day is the last.
local function instant(text)
  local year, month, day, hour, minute, second, rest =
    string.match(text, '^(%d%d%d%d)%-(%d%d)%-(%d%d)[Tt ](%d%d):(%d%d):(%d%d)(.+)$')
  if not year then
    return nil
  end
  local fraction, zone = string.match(rest, '^%.(%d+)(.+)$')
  zone = zone or rest
  local ahead = 0 -- of UTC, in minutes
  if zone ~= 'Z' and zone ~= 'z' then
    local sign, hours, minutes = string.match(zone, '^([+-])(%d%d):?(%d%d)$')
    if not sign then
      return nil
    end
    ahead = (sign == '-' and -1 or 1) * (hours * 60 + minutes)
  end
  year, month = tonumber(year), tonumber(month)
  if month <= 2 then
    year, month = year - 1, month + 12
  end
  local days = year * 365 + math.floor(year / 4) - math.floor(year / 100) + math.floor(year / 400)
    + math.floor((153 * (month - 3) + 2) / 5) + day - 1 - 719468
  local millis = tonumber(string.sub((fraction or '') .. '000', 1, 3))
  return ((days * 24 + hour) * 60 + minute - ahead) * 60000 + second * 1000 + millis
end
