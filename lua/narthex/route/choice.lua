--- Which backend serves a request, where that is a question: the one of the route or its canary, and where a cookie leads.
--
-- Affinity comes before everything: who is bound to the primary or the canary stays there. The choice applies to all tries.
-- @module narthex.route.choice

local ngx = ngx
local affinity = require("narthex.balance.affinity")
local backend = require("narthex.balance.backend")
local canary = require("narthex.route.canary")
local context = require("narthex.request.context")
local metrics = require("narthex.metrics.metrics")

local re_match = ngx.re.match

local M = {}

--- The canary's record, if the request goes there.
local function alternative_of(var, record, owner, revision)
  local alternative = record.alternative
  if not alternative or owner and owner == affinity.owner(record) then
    return nil
  end
  local other = backend.get(alternative.backend, revision)
  if not other or not other.balancer then
    return nil
  end
  local is_bound = owner and alternative.is_sticky and owner == affinity.owner(other)
  return (is_bound or canary.wants(var, alternative)) and other
end

local function captures_of(path, uri)
  return path and (re_match(uri, "^" .. path, "ijo")) or nil
end

--- Chooses, and remembers what the tries need to know.
-- Phase: rewrite.
-- @tparam table var `ngx.var`
-- @tparam table route `{backend, issues_cookie, path}`
-- @tparam table record of its backend, from `narthex.balance.backend`; has a `choice`
-- @tparam number revision
-- @tparam ?string uri that the route's path matched
-- @treturn string key of the backend that serves the request
function M.make(var, route, record, revision, uri)
  local key, chosen, rule = route.backend, record, record.affinity
  local cookie, owner
  if rule then
    cookie, owner = affinity.read(var, rule)
  end
  local other = alternative_of(var, record, owner, revision)
  if other then
    key, chosen = record.alternative.backend, other
    var.proxy_alternative_upstream_name = other.name
    if metrics.on then
      metrics.canary(other.name)
    end
    rule = record.alternative.is_sticky and rule
  end
  if rule then
    context.open(var).affinity = affinity.begin(rule, key, cookie, route.issues_cookie)
  end
  if chosen.balancer.needs_captures and uri then
    context.open(var).captures = captures_of(route.path, uri)
  end
  return key
end

return M
