--- What authentication services answered, for as long as they allow it, in a shared dictionary that forgets the oldest.
--
-- The rules are those of `proxy_cache`: an answer's own word about its age comes before the rules of the route, and one that sets a cookie
-- or varies is not kept.
-- @module narthex.auth.verdicts

local ngx = ngx
local cjson = require("cjson.safe")
local dictionaries = require("narthex.state.dictionaries")

local find = string.find
local lower = string.lower
local match = string.match
local tonumber = tonumber

local M = {}

local kept = dictionaries.get("auth_verdicts")

--- Seconds for which the answer itself lets it be kept; nil if it says nothing.
local function own_word(var)
  local accel = var.upstream_http_x_accel_expires
  if accel and tonumber(accel) then
    return tonumber(accel)
  end
  local control = lower(var.upstream_http_cache_control or "")
  if find(control, "no-cache", 1, true) or find(control, "no-store", 1, true) or find(control, "private", 1, true) then
    return 0
  end
  local age = match(control, "s%-maxage=(%d+)") or match(control, "max%-age=(%d+)")
  if age then
    return tonumber(age)
  end
  local expires = var.upstream_http_expires
  if expires then
    return (ngx.parse_http_time(expires) or 0) - ngx.time()
  end
end

local function by_rules(rules, status)
  for _, rule in ipairs(rules) do
    if #rule == 1 then
      return rule[1]
    end
    for i = 2, #rule do
      if rule[i] == status then
        return rule[1]
      end
    end
  end
  return 0
end

--- The answer that is kept under a key. Phase: any.
-- @tparam string key
-- @treturn ?table `status`, `headers` (lower-case name to value), `challenge`
function M.get(key)
  local text = kept:get(key)
  return text and cjson.decode(text)
end

--- Keeps an answer if it may be kept. Phase: header_filter of the request to the service.
-- @tparam string key
-- @tparam table rules of the route: seconds, then statuses
-- @tparam table answer as `get` returns it
-- @tparam table var `ngx.var`
function M.keep(key, rules, answer, var)
  if var.upstream_http_set_cookie or var.upstream_http_vary then
    return
  end
  local seconds = own_word(var) or by_rules(rules, answer.status)
  local text = seconds > 0 and cjson.encode(answer)
  if text then
    local ok, err = kept:set(key, text, seconds)
    if not ok then
      ngx.log(ngx.WARN, "an authentication verdict is not kept: ", err)
    end
  end
end

return M
