--- The locations of one host: compiled from its record, matched against a path.
--
-- Plain mode: the exact path, else the longest prefix (all end in `/`). Only lengths that occur are tried, so a match costs
-- a few table lookups however long the path is. Regex mode: the first that matches, in order.
-- @module narthex.route.locations

local ngx = ngx
local expand = require("narthex.request.expand")
local route_fields = require("narthex.route.fields")

local byte = string.byte
local re_find = ngx.re.find
local gsub = string.gsub
local sub = string.sub

local SLASH, STAR = byte("/*", 1, 2)

--- What `match` says besides a route.
local M = { ADD_SLASH = 1, HEALTH = 2, FAILED = 3, STATUS = 4 }

local function compile_prefixes(given, at)
  local prefix, seen, lengths = {}, {}, {}
  for path, i in pairs(given.prefix or {}) do
    prefix[path] = at(i)
    if not seen[#path] then
      seen[#path] = true
      lengths[#lengths + 1] = #path
    end
  end
  table.sort(lengths, function(a, b) return a > b end)
  return prefix, lengths, seen
end

local function compile_regexes(key, given, at)
  local list = {}
  for _, entry in ipairs(given.regex or {}) do
    local pattern = "^" .. tostring(entry[1])
    local _, _, err = re_find("", pattern, "ijo")
    if err then
      ngx.log(ngx.ERR, "host ", key, ": regex ", pattern, ": ", err, ", it never matches")
    else
      list[#list + 1] = { pattern = pattern, route = at(entry[2]) }
    end
  end
  return #list > 0 and list or false
end

--- What NGINX would call the server block of a host: a wildcard is a pattern of one label.
local function server_name_of(name)
  if byte(name) == STAR then
    return "~^(?<subdomain>[\\w-]+)" .. gsub(sub(name, 2), "%.", "\\.") .. "$"
  end
  return name
end

--- Whether some Ingress has the host: without one the record of all other hosts has the default backend only.
local function is_of_an_ingress(key, given)
  if key ~= "_" then
    return true
  end
  for _, policy in ipairs(given.policies or {}) do
    if policy.namespace then
      return true
    end
  end
  return false
end

--- Compiles a host record.
-- Phase: any.
-- @tparam string key of the record, for the log
-- @tparam table given the decoded record
-- @tparam table config from `narthex.config`
-- @treturn table what `match` takes
function M.compile(key, given, config)
  local default = route_fields.default(config, key)
  -- What requests are counted under, if at all.
  local compiled, policies, host = {}, {}, is_of_an_ingress(key, given) and key
  default.host = host
  for i, policy in ipairs(given.policies or {}) do
    policies[i] = route_fields.policy(key, policy, config)
  end
  for i, location in ipairs(given.locations) do
    local policy = policies[(location.policy or 0) + 1] or error("location without its policy")
    compiled[i] = route_fields.compile(key, location, policy, config)
    compiled[i].host = host
  end
  local function at(i)
    return compiled[i + 1] or default
  end
  local record = { exact = {}, default = default, tls = false, tls_revision = -1 }
  for path, i in pairs(given.exact or {}) do
    record.exact[path] = at(i)
  end
  record.prefix, record.lengths, record.has_length = compile_prefixes(given, at)
  record.regex = compile_regexes(key, given, at)
  record.app_root = given.app_root and expand.compile(given.app_root) or false
  record.redirect_to = given.redirect_to or false
  record.client_page = given.auth_tls_error_page or false
  record.server_name = server_name_of(given.name or key)
  -- What few hosts do before a location is looked for.
  record.is_special = (record.app_root or record.redirect_to) and true or false
  -- The commonest host has one rule for everything.
  record.only = key ~= "_" and not next(record.exact) and not record.regex and #record.lengths == 1 and record.prefix["/"] or false
  return record
end
jit.off(M.compile, true)

local function match_regex(list, uri)
  for i = 1, #list do
    local from, _, err = re_find(uri, list[i].pattern, "ijo")
    if from then
      return list[i].route
    end
    if err then
      ngx.log(ngx.ERR, "regex ", list[i].pattern, ": ", err)
      return list[i].route, M.FAILED
    end
  end
end

--- The route for a path.
-- Phase: any.
-- @tparam table record from `compile`
-- @tparam string uri decoded and normalised
-- @tparam ?table own paths that are answered here unless a rule claims them, each with `HEALTH` or `STATUS`
-- @treturn table the route; the default one if nothing matches
-- @treturn ?number `ADD_SLASH`: redirect to the path with `/` appended; `HEALTH`; `STATUS`; `FAILED`: the regex engine gave up
function M.match(record, uri, own)
  local route = record.only or record.exact[uri]
  if route then
    return route
  end
  if record.regex then
    local special
    route, special = match_regex(record.regex, uri)
    if route then
      return route, special
    end
  end
  local answered = own and own[uri]
  if answered then
    return record.default, answered
  end
  local length, prefix = #uri, record.prefix
  if record.has_length[length + 1] and byte(uri, length) ~= SLASH then
    route = prefix[uri .. "/"]
    if route then
      return route, M.ADD_SLASH
    end
  end
  local lengths = record.lengths
  for i = 1, #lengths do
    local at = lengths[i]
    if at <= length and byte(uri, at) == SLASH then
      route = prefix[sub(uri, 1, at)]
      if route then
        return route
      end
    end
  end
  return record.default
end

return M
