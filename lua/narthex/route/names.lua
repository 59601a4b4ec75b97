--- Further names of hosts that are patterns: what a name ends in, and regular expressions.
-- @module narthex.route.names

local ngx = ngx

local find = string.find
local re_find = ngx.re.find
local sub = string.sub

local M = {}

--- Compiles the record.
-- Phase: any.
-- @tparam table given `suffixes`: by suffix with its dot, the key of a host; `regexes`: pairs of expression and key
-- @treturn table
function M.compile(given)
  local regexes = {}
  for _, entry in ipairs(given.regexes or {}) do
    local _, _, err = re_find("", entry[1], "ijo")
    if err then
      ngx.log(ngx.ERR, "name ", entry[1], ": ", err, ", it never matches")
    else
      regexes[#regexes + 1] = entry
    end
  end
  return { suffixes = given.suffixes, regexes = regexes }
end
jit.off(M.compile, true)

--- The host of the longest suffix that a name has. Phase: any.
-- @tparam table patterns from `compile`
-- @tparam string name lower case
-- @treturn ?string key of a host
function M.suffix(patterns, name)
  local suffixes = patterns.suffixes
  local dot = suffixes and find(name, ".", 2, true)
  while dot do
    local host = suffixes[sub(name, dot)]
    if host then
      return host
    end
    dot = find(name, ".", dot + 1, true)
  end
end

--- The host of the first regular expression that a name matches. Phase: any.
-- @tparam table patterns from `compile`
-- @tparam string name lower case
-- @treturn ?string key of a host
function M.regex(patterns, name)
  local regexes = patterns.regexes
  for i = 1, #regexes do
    local from, _, err = re_find(name, regexes[i][1], "ijo")
    if from then
      return regexes[i][2]
    elseif err then
      ngx.log(ngx.ERR, "name ", regexes[i][1], ": ", err)
    end
  end
end

return M
