--- Phase entry: from host and path to the named location of a profile (`rewrite_by_lua`).
-- `docs/live-protocol.md` has the order of steps.
-- @module narthex.route.router

local ngx = ngx
local access = require("narthex.auth.access")
local again = require("narthex.request.again")
local authority = require("narthex.request.authority")
local backend = require("narthex.balance.backend")
local choice = require("narthex.route.choice")
local clients = require("narthex.auth.clients")
local closing = require("narthex.state.closing")
local context = require("narthex.request.context")
local errors = require("narthex.route.errors")
local expand = require("narthex.request.expand")
local host = require("narthex.route.host")
local identity = require("narthex.route.identity")
local limits = require("narthex.limits.limits")
local locations = require("narthex.route.locations")
local metrics = require("narthex.metrics.metrics")
local missing = require("narthex.route.missing")
local own_host = require("narthex.request.own_host")
local proxying = require("narthex.route.proxying")
local reason = require("narthex.request.reason")
local redirect = require("narthex.route.redirect")
local request_id = require("narthex.request.request_id")
local response = require("narthex.request.response")
local rewrite = require("narthex.route.rewrite")
local route_fields = require("narthex.route.fields")
local store = require("narthex.state.store")
local tls = require("narthex.tls.hosts")
local tracing = require("narthex.metrics.tracing")

local byte = string.byte
local exec = ngx.exec
local exit = ngx.exit
local sleep = ngx.sleep
local is_ending = ngx.worker.exiting
local tonumber = tonumber

local M = {}

local MISDIRECTED = 421
local WORDS = reason.WORDS
local ONE = string.byte("1")

--- How long a request waits for the first records after a start, and how often it looks, in seconds.
local PATIENCE = 2
local PAUSE = 0.02

--- The location of NGINX's counters, which the server of all hosts has, and the path that leads there.
local STATUS, STATUS_PATH = "@narthex_status\n", "/nginx_status"

local own_paths, generate_request_id, running

--- Takes the global settings. Phase: init.
-- @tparam table config from `narthex.config`
function M.setup(config)
  own_paths = { [STATUS_PATH] = locations.STATUS, [config.health_check_path] = locations.HEALTH }
  generate_request_id, running = config.generate_request_id, config.revision
end

--- The controller's probe names the revision that it expects.
local function answer_health(var)
  var.narthex_log = "0"
  ngx.header.content_length = 0
  local expected = var.http_narthex_revision
  return exit((not expected or expected == running) and ngx.HTTP_OK or MISDIRECTED)
end

--- Variables for logs and headers.
local function identify(var, route, pool)
  identity.set(var, route)
  if pool then
    var.proxy_upstream_name = pool.name
  elseif route.backend == backend.DEFAULT then
    var.proxy_upstream_name = backend.name_of_default
  end
  if route.extra and route.extra.no_log then
    var.narthex_log = "0"
  end
end

--- Whether the request's host has a certificate; remembered in the record when it is of this host alone.
local function is_tls_host(name, record, own, revision)
  if not own then
    return tls.covers(name)
  end
  if record.tls_revision ~= revision then
    record.tls, record.tls_revision = tls.covers(name), revision
  end
  return record.tls
end

local function wants_https(var, route, name, record, own, revision)
  local mode = route.redirect
  return mode ~= route_fields.PLAIN
    and (mode == route_fields.ALWAYS or is_tls_host(name, record, own, revision))
    and var.pass_access_scheme == "http"
end

local function is_too_large(length, limit)
  return length and (tonumber(length) or 0) > limit
end

--- Whether the request surely has no body: HTTP/1 without either of the headers that announce one.
local function has_no_body(var, length)
  return not length and byte(var.server_protocol, 6) == ONE and not var.http_transfer_encoding
end

--- What few hosts do whatever the location. Returns when the request goes on.
local function before_location(var, record, uri)
  if record.redirect_to then
    return redirect.to_host(var, record.redirect_to)
  elseif uri == "/" then
    return redirect.to_app_root(var, expand.eval(record.app_root, var))
  end
end

--- What few routes answer before anybody is sent to HTTPS. Returns when the request goes on.
local function answer_early(var, route, extra, uri)
  if extra.forbidden or extra.verified then
    clients.check(var, route)
  end
  if extra.denied then
    return errors.exit(var, route, ngx.HTTP_SERVICE_UNAVAILABLE, extra.unknown and WORDS.RELOAD_PENDING or WORDS.PROTECTION_UNUSABLE)
  end
  if extra.response and extra.response.cors then
    response.share(var, extra.response)
  end
  if extra.redirects and extra.redirects.status then
    return redirect.answer(var, extra.redirects)
  end
  if extra.rewrite and extra.rewrite.redirect then
    rewrite.apply(extra.rewrite, var, uri, extra.log_rewrite)
  end
end

--- Sets the header with the prefix that the rewrite cut off. It is for the backend alone: where an authentication service is asked before,
-- it gets the client's.
local function set_prefix(var, extra, captures)
  local value = expand.line(extra.prefix, var, captures)
  if extra.access and extra.access.external then
    context.open(var).prefix = value
  else
    proxying.set_prefix(value)
  end
end

--- Sets what differs from the global settings.
local function set_bandwidth(var, bandwidth)
  if bandwidth.rate then
    var.limit_rate = bandwidth.rate
  end
  if bandwidth.after then
    var.narthex_rate_after = bandwidth.after
  end
end

--- What few routes ask for.
local function prepare(var, extra, uri)
  if not extra then
    return
  end
  if extra.rewrite then
    local captures = not extra.rewrite.redirect and rewrite.apply(extra.rewrite, var, uri, extra.log_rewrite) or nil
    if extra.prefix then
      set_prefix(var, extra, captures)
    end
  end
  if extra.timeouts then
    var.narthex_timeouts = extra.timeouts
  end
  if extra.vhost then
    var.narthex_vhost = expand.line(extra.vhost, var)
  end
  if extra.proxying then
    proxying.apply(extra.proxying, var)
  end
  if extra.redirects and extra.redirects.has_own_form then
    context.open(var).redirects = extra.redirects
    own_host.mark(var)
  end
  if extra.bandwidth then
    set_bandwidth(var, extra.bandwidth)
  end
end

--- NGINX was started a moment ago and does not hold everything yet: what seems absent may come any moment.
local function await_records(elsewhere)
  for _ = 1, PATIENCE / PAUSE do
    sleep(PAUSE)
    if store.is_complete() then
      return M.rewrite(elsewhere)
    end
  end
  reason.refuse(ngx.var, nil, ngx.HTTP_SERVICE_UNAVAILABLE, WORDS.STARTING)
  return exit(ngx.HTTP_SERVICE_UNAVAILABLE)
end

--- Whether the route comes to name a profile that this worker has. A controller that was just started does not know which ones the records
-- of before need, and leaves them out of the text; it sends the route as it is now when the reload is done.
local function gets_profile(var)
  for _ = 1, PATIENCE / PAUSE do
    -- A worker that is about to end never has it.
    if is_ending() then
      return false
    end
    sleep(PAUSE)
    local route = locations.match(host.find(var.host, store.revision()), var.uri)
    if not (route.extra and route.extra.unknown) then
      return true
    end
  end
  return false
end

--- Finds the request's route and acts on it: answers, or goes to a profile. Returns only if the location that it is called in
-- is to proxy the request, which it does as the default profile would, but for the limit of the body.
-- Phase: rewrite.
-- @tparam ?boolean elsewhere whether the location proxies nothing itself
function M.rewrite(elsewhere)
  local var = ngx.var
  local revision = store.revision()
  if not elsewhere then
    closing.leave(revision)
  end
  local is_again = var.narthex_backend ~= ""
  if is_again then
    again.begin(var)
  else
    authority.settle(var)
  end
  local name, uri = var.host, var.uri
  local record, own, catch_all = host.find(name, revision)
  if record.is_special then
    before_location(var, record, uri)
  end
  local route, special = locations.match(record, uri, catch_all and own_paths or nil)
  local extra = route.extra
  if extra and extra.unknown and gets_profile(var) then
    return M.rewrite(elsewhere)
  end
  local length = var.content_length
  local too_large = is_too_large(length, route.body_limit)
  if generate_request_id and not is_again then
    request_id.assign()
  end
  if special == locations.HEALTH and not too_large then
    return answer_health(var)
  elseif special == locations.STATUS then
    return exec(STATUS)
  end
  if metrics.on then
    metrics.begin(route, name)
  end
  local pool = route_fields.pool(route, revision)
  identify(var, route, pool)
  if extra and extra.response then
    response.begin(var, extra.response)
  end
  if extra and extra.errors then
    errors.arm(var, extra.errors)
  end
  if extra and extra.tracing and not is_again then
    tracing.begin(var, extra.tracing)
  end
  if too_large then
    return errors.exit(var, route, 413, WORDS.BODY_TOO_LARGE)
  end
  if special == locations.ADD_SLASH then
    return redirect.add_slash(var, uri, extra and extra.redirects)
  elseif special == locations.FAILED then
    return errors.exit(var, route, ngx.HTTP_INTERNAL_SERVER_ERROR, WORDS.PATH_REGEX_FAILED)
  end
  if extra then
    answer_early(var, route, extra, uri)
  end
  if wants_https(var, route, name, record, own, revision) then
    return redirect.to_https(var, extra and extra.keep_slash, extra and extra.redirects)
  end
  if not pool or not pool.balancer then
    if not store.is_complete() then
      return await_records(elsewhere)
    end
    if not errors.substitute(var, route) then
      return missing.answer(var, route, uri, prepare)
    end
  elseif pool.choice then
    var.narthex_backend = choice.make(var, route, pool, revision, uri)
  else
    var.narthex_backend = route.backend
  end
  if extra then
    prepare(var, extra, uri)
    -- NGINX too counts a request once.
    if extra.limits and not is_again then
      local status, word = limits.enter(var, extra.limits)
      if status then
        return errors.exit(var, route, status, word)
      end
    end
    if extra.access then
      access.check(var, route)
    end
  end
  if elsewhere or not route.is_inline or not has_no_body(var, length) then
    return exec(route.target)
  end
end

return M
