--- The cookie of cookie affinity as it is set.
-- @module narthex.balance.affinity_cookie

local ngx = ngx
local resp = require("ngx.resp")

local byte = string.byte
local find = string.find
local format = string.format
local gsub = string.gsub

local M = {}

--- Parts of the names of browsers that refuse a cookie with `SameSite=None`, or take it for `Strict`.
local CONFUSED = { "Chrome/4", "Chrome/5", "Chrome/6", "CPU iPhone OS 12", "iPad; CPU OS 12" }

local function has(text, part)
  return find(text, part, 1, true)
end

local function is_confused(agent)
  if not agent then
    return false
  end
  for _, part in ipairs(CONFUSED) do
    if has(agent, part) then
      return true
    end
  end
  return has(agent, "Macintosh") and has(agent, "Intel Mac OS X 10_14") and has(agent, "Safari") and not has(agent, "Chrome")
end

local function hex(one)
  return format("%%%02X", byte(one))
end

--- A path in which nothing ends the attribute; browsers compare it with escaped paths anyway.
local function path_of(path)
  return (gsub(path, "[%z\1-\32;\127-\255]", hex))
end

local function expires(seconds)
  return ngx.cookie_time(math.max(ngx.time() + seconds, 0))
end

local function text(var, rule, value)
  local parts = { rule.name .. "=" .. value }
  local function add(part)
    parts[#parts + 1] = part
  end
  if rule.expires then
    add("Expires=" .. expires(rule.expires))
  end
  if rule.max_age then
    add("Max-Age=" .. format("%d", rule.max_age))
  end
  if rule.domain then
    add("Domain=" .. rule.domain)
  end
  add("Path=" .. path_of(rule.path or var.location_path))
  if rule.is_secure or var.https == "on" then
    add("Secure")
  end
  add("HttpOnly")
  local unwanted = rule.same_site == "None" and rule.same_site_is_conditional and is_confused(var.http_user_agent)
  if rule.same_site and not unwanted then
    add("SameSite=" .. rule.same_site)
  end
  return table.concat(parts, "; ")
end

--- Sets the cookie if the request came to a new endpoint. Phase: header_filter.
-- @tparam table var `ngx.var`
-- @tparam table choice from `narthex.balance.affinity`.begin
function M.set(var, choice)
  if choice.value then
    resp.add_header("Set-Cookie", text(var, choice.rule, choice.value))
  end
end

return M
