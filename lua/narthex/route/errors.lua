--- Errors that a backend of their own answers, and what takes the place of a backend without endpoints.
--
-- NGINX hands over errors that it or the endpoint makes (`error_page` in the profile's location); those that Lua makes before the
-- profile is entered are handed over here.
-- @module narthex.route.errors

local ngx = ngx
local backend = require("narthex.balance.backend")
local context = require("narthex.request.context")
local identity = require("narthex.route.identity")
local inner = require("narthex.request.inner")
local reason = require("narthex.request.reason")
local store = require("narthex.state.store")

local exec = ngx.exec
local exit = ngx.exit
local set_header = ngx.req.set_header

local M = {}

--- The location that asks for the page, and the one that shows NGINX's own.
local PAGE, STOCK = inner.location("narthex_errors"), inner.location("narthex_builtin")
local TOO_LARGE = 413

local global

--- What `describe` reads.
local function want_description()
  identity.want("namespace")
  identity.want("ingress_name")
  identity.want("service_name")
  identity.want("service_port")
end

--- Takes the global settings. Phase: init.
-- @tparam table config from `narthex.config`
function M.setup(config)
  global = {}
  for _, status in ipairs(config.custom_http_errors) do
    global[status] = true
    want_description()
  end
end

--- Compiles the errors of a route.
-- Phase: any.
-- @tparam table given `errors` of the decoded policy
-- @treturn table what the others take
function M.compile(given)
  local set
  if given.custom_http_errors then
    set = {}
    for _, status in ipairs(given.custom_http_errors) do
      set[status] = true
    end
  end
  want_description()
  return { statuses = set, backend = given.default_backend }
end

--- Ends the request with an error, or has it answered by the backend for errors. Does not return.
-- Phase: rewrite, in the location that finds the route.
-- @tparam table var `ngx.var`
-- @tparam table route
-- @tparam number status
-- @tparam ?string word why, of `narthex.request.reason`; nil: it was said before
function M.exit(var, route, status, word)
  if word then
    reason.refuse(var, route, status, word)
  end
  local errors = route.extra and route.extra.errors
  local own = errors and errors.statuses
  if not own then
    -- The server's own `error_page` holds here.
    return exit(status)
  end
  if own[status] then
    var.narthex_code = status
    return exec(PAGE)
  elseif global[status] then
    var.narthex_code = status
    return exec(STOCK)
  end
  return exit(status)
end

local function usable(key)
  local pool = backend.get(key, store.revision())
  return pool and pool.balancer and pool
end

--- What tells the backend for errors about the request. A header without a value is removed: clients don't speak for us.
local function describe(var, code, original)
  set_header("X-Code", code)
  set_header("X-Format", var.http_accept)
  set_header("X-Original-URI", original)
  set_header("X-Namespace", var.namespace)
  set_header("X-Ingress-Name", var.ingress_name)
  set_header("X-Service-Name", var.service_name)
  set_header("X-Service-Port", var.service_port)
end

--- The backend that takes the place of a route's own, which has no endpoint.
-- Phase: rewrite.
-- @tparam table var `ngx.var`
-- @tparam table route
-- @treturn boolean whether there is one; then the request goes on
function M.substitute(var, route)
  local errors = route.extra and route.extra.errors
  local pool = errors and errors.backend and route.backend ~= backend.DEFAULT and usable(errors.backend)
  if not pool then
    return false
  end
  var.narthex_backend, var.proxy_upstream_name = errors.backend, pool.name
  describe(var, ngx.HTTP_SERVICE_UNAVAILABLE)
  return true
end

--- Remembers where errors go that NGINX hands over. Those of the global list go to the default backend, whatever the route says.
-- Phase: rewrite.
-- @tparam table var `ngx.var`
-- @tparam table errors from `compile`
function M.arm(var, errors)
  if errors.statuses and errors.backend then
    var.narthex_error_backend = errors.backend
  end
end

--- Makes the request one for the page of an error. Phase: rewrite, in the location for errors.
function M.page()
  local var = ngx.var
  -- From Lua, or the status that `error_page` set, which the page's own takes the place of.
  local code = tonumber(var.narthex_code) or ngx.status
  if ngx.is_subrequest then
    -- A mirror's or an authentication service's error needs no page: the parent request looks at the status.
    return exit(code)
  end
  local state = context.open(var)
  if state.has_page then
    -- The page's backend sent the request elsewhere, where it failed again. NGINX too asks for one page only.
    return exit(code)
  end
  state.is_error_page, state.has_page = true, true
  reason.keep(var, code)
  if code == TOO_LARGE then
    -- The body is thrown away.
    ngx.req.clear_header("Content-Length")
  end
  local key, pool = var.narthex_error_backend, nil
  if key ~= "" then
    pool = usable(key)
  end
  if not pool then
    key, pool = backend.DEFAULT, usable(backend.DEFAULT)
  end
  if not pool then
    var.proxy_upstream_name = backend.name_of_default
    if var.narthex_reason == "-" then
      reason.set(var, reason.WORDS.NO_ERROR_PAGE)
    end
    return exit(ngx.HTTP_NOT_FOUND)
  end
  ngx.status = ngx.HTTP_OK
  var.narthex_backend, var.proxy_upstream_name = key, pool.name
  var.narthex_timeouts, var.narthex_vhost = "", var.best_http_host
  describe(var, code, var.request_uri)
  ngx.req.set_uri("/")
end

--- Shows NGINX's own page where only a route's list says that it is not taken over. Phase: rewrite, in the location for that.
function M.builtin()
  return exit(tonumber(ngx.var.narthex_code))
end

return M
