--- Whether a request goes to the canary: the header decides, then the cookie, then chance.
-- @module narthex.route.canary

local ngx = ngx

local gsub = string.gsub
local lower = string.lower
local random = math.random
local re_find = ngx.re.find

local M = {}

--- The variable of a header.
local function header_variable(name)
  return "http_" .. gsub(lower(name), "-", "_")
end

--- Compiles the alternative of a backend.
-- Phase: any.
-- @tparam ?table given `alternative` of a backend record
-- @treturn table|boolean `{backend, is_sticky, ...}`; false if there is none
function M.compile(given)
  if not given then
    return false
  end
  return {
    backend = given.backend,
    is_sticky = given.sticky or false,
    weight = given.canary_weight or 0,
    total = given.canary_weight_total or 100,
    header = given.canary_by_header and header_variable(given.canary_by_header),
    value = given.canary_by_header_value,
    pattern = given.canary_by_header_pattern,
    header_means_primary = given.header_means_primary,
    cookie = given.canary_by_cookie and "cookie_" .. lower(given.canary_by_cookie),
  }
end

--- True: the canary; false: the primary; nil: something else decides.
local function by_word(word)
  if word == "always" then
    return true
  elseif word == "never" then
    return false
  end
end

local function by_header(alternative, value)
  if alternative.header_means_primary then
    return false
  elseif alternative.value then
    return value == alternative.value or nil
  elseif alternative.pattern then
    local from, _, err = re_find(value, alternative.pattern, "jo")
    if err then
      ngx.log(ngx.WARN, "canary ", alternative.backend, ": pattern ", alternative.pattern, ": ", err, ", the primary answers")
      return false
    end
    return from and true
  end
  return by_word(value)
end

--- Decides about a request. Phase: rewrite.
-- @tparam table var `ngx.var`
-- @tparam table alternative from `compile`
-- @treturn boolean
function M.wants(var, alternative)
  local value = alternative.header and var[alternative.header]
  local verdict
  if value then
    verdict = by_header(alternative, value)
  end
  if verdict == nil and alternative.cookie then
    verdict = by_word(var[alternative.cookie])
  end
  if verdict == nil then
    return alternative.weight > 0 and random(alternative.total) <= alternative.weight
  end
  return verdict
end

return M
