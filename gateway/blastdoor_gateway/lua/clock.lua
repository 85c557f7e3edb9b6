-- Time. Everything here is in whole milliseconds since the epoch.

-- What the caller says (a test, a recording); 0: this server's own clock, which all gateways share.
local function clock(given)
  if given ~= 0 then
    return given
  end
  local time = redis.call('TIME')
  return tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)
end

-- Days from 1970-01-01 to a date of the Gregorian calendar. Years begin in March here, so that a leap day is the last.
local function days_to(year, month, day)
  if month <= 2 then
    year = year - 1
  end
  local era = math.floor(year / 400)
  local of_era = year - era * 400
  local of_year = math.floor((153 * (month + (month > 2 and -3 or 9)) + 2) / 5) + day - 1
  return era * 146097 + of_era * 365 + math.floor(of_era / 4) - math.floor(of_era / 100) + of_year - 719468
end

-- How far a zone's time is ahead of UTC: 'Z', '+08:00', '-0330'; nil for anything else.
local function offset_of(zone)
  if zone == 'Z' or zone == 'z' then
    return 0
  end
  local sign, hours, minutes = string.match(zone, '^([+-])(%d%d):?(%d%d)$')
  if not sign then
    return nil
  end
  return (sign == '-' and -1 or 1) * (hours * 60 + minutes) * 60000
end

-- RFC 3339 text as an instant, digits beyond milliseconds cut off; nil for anything else.
local function instant(text)
  local year, month, day, hour, minute, second, rest =
    string.match(text, '^(%d%d%d%d)%-(%d%d)%-(%d%d)[Tt ](%d%d):(%d%d):(%d%d)(.+)$')
  if not year then
    return nil
  end
  local fraction, zone = string.match(rest, '^%.(%d+)(.+)$')
  local offset = offset_of(zone or rest)
  if not offset then
    return nil
  end
  local days = days_to(tonumber(year), tonumber(month), tonumber(day))
  local millis = tonumber(string.sub((fraction or '') .. '000', 1, 3))
  return ((days * 24 + hour) * 60 + minute) * 60000 + second * 1000 + millis - offset
end
