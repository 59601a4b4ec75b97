--- What answers where the backend of a route has no endpoint and nothing takes its place: 503, or 404 for the default backend.
--
-- The answer is made in the location of the profile where that has something to add: headers, a redirect of a snippet, copies of requests.
-- @module narthex.route.missing

local ngx = ngx
local access = require("narthex.auth.access")
local backend = require("narthex.balance.backend")
local context = require("narthex.request.context")
local errors = require("narthex.route.errors")
local reason = require("narthex.request.reason")

local exec = ngx.exec
local exit = ngx.exit
local tonumber = tonumber

local UNAVAILABLE, NOT_FOUND = 503, 404

local M = {}

--- To the location of the profile, with the status that it answers.
local function enter(var, route, status)
  var.narthex_backend, var.narthex_missing = route.backend, status
  context.open(var).missing = route
  return exec(route.target)
end

local function answer_unavailable(var, route, uri, prepare)
  if not route.answers then
    return errors.exit(var, route, UNAVAILABLE, reason.missing(route))
  end
  prepare(var, route.extra, uri)
  return enter(var, route, UNAVAILABLE)
end

--- 404 only for clients that pass the route's protection: others don't learn that nothing is behind a path.
local function answer_not_found(var, route, uri, prepare)
  local extra = route.extra or {}
  if not (route.answers or extra.copies or extra.access) then
    return errors.exit(var, route, NOT_FOUND, reason.missing(route))
  end
  prepare(var, extra, uri)
  if extra.access then
    access.check(var, route)
    if extra.access.external then
      -- After the service, the profile's location looks for the backend.
      return enter(var, route, extra.copies and NOT_FOUND or "")
    end
  end
  if route.answers or extra.copies then
    return enter(var, route, NOT_FOUND)
  end
  return errors.exit(var, route, NOT_FOUND, reason.missing(route))
end

--- Ends the request where `enter` has led.
local function finish(var, status)
  local state = context.get(var)
  local route = state and state.missing
  if route then
    reason.refuse(var, route, status, reason.missing(route))
  end
  return exit(status)
end

--- Ends the request. Does not return. Phase: rewrite.
-- @tparam table var `ngx.var`
-- @tparam table route
-- @tparam string uri the normalised one
-- @tparam function prepare what else the route asks for: takes `var`, the route's extras and `uri`
function M.answer(var, route, uri, prepare)
  if route.backend == backend.DEFAULT then
    return answer_not_found(var, route, uri, prepare)
  end
  return answer_unavailable(var, route, uri, prepare)
end

--- Ends the request in the location of a profile, after the directives of its snippet. What is copied first ends later.
-- Phase: rewrite.
function M.early()
  local var = ngx.var
  local status = var.narthex_missing
  if status ~= "" and (var.narthex_mirror_target == "" or status ~= "404") then
    return finish(var, tonumber(status))
  end
end

--- The same after copies were made. Phase: content.
function M.late()
  return finish(ngx.var, NOT_FOUND)
end

return M
