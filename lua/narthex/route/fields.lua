--- One route: its fields resolved against the global settings, so that a request only reads them.
-- @module narthex.route.fields

local ngx = ngx
local access = require("narthex.auth.access")
local backend = require("narthex.balance.backend")
local balancer = require("narthex.balance.balancer")
local errors = require("narthex.route.errors")
local expand = require("narthex.request.expand")
local inner = require("narthex.request.inner")
local limits = require("narthex.limits.limits")
local proxying = require("narthex.route.proxying")
local redirect = require("narthex.route.redirect")
local response = require("narthex.request.response")
local rewrite = require("narthex.route.rewrite")
local tracing = require("narthex.metrics.tracing")

local concat = table.concat
local sub = string.sub

--- When plain HTTP is redirected: never, if the host has a certificate, always.
local M = { PLAIN = 0, IF_TLS = 1, ALWAYS = 2 }

--- The default profile and its named location.
local DEFAULT = "base"
local BASE = inner.location(DEFAULT)

local function either(value, global)
  if value == nil then
    return global
  end
  return value
end

local function redirect_mode(path, given, config)
  for _, exempt in ipairs(config.no_tls_redirect_locations) do
    if sub(path, 1, #exempt) == exempt then
      return M.PLAIN
    end
  end
  if either(given.force_ssl_redirect, config.force_ssl_redirect) then
    return M.ALWAYS
  end
  return either(given.ssl_redirect, config.ssl_redirect) and M.IF_TLS or M.PLAIN
end

local function body_limit(given, config)
  local limit = given.proxy_body_size or config.proxy_body_size
  return limit > 0 and limit or math.huge
end

--- `connect,send,read,tries`, empty where the global setting holds.
local function timeouts(given)
  local own = { given.proxy_connect_timeout or "", given.proxy_send_timeout or "", given.proxy_read_timeout or "",
    given.proxy_next_upstream_tries or "" }
  local joined = concat(own, ",")
  if joined ~= ",,," then
    balancer.use_timeouts()
    return joined
  end
end

local function rule(key, given)
  if not given.rewrite_target then
    return nil
  end
  local compiled, err = rewrite.compile(given.path, given.rewrite_target)
  if not compiled then
    ngx.log(ngx.ERR, "host ", key, ": rewrite regex ", given.path, ": ", err, ", nothing is rewritten")
  end
  return compiled
end

--- An empty text is as good as none: the variable is empty already.
local function text(value)
  return value ~= "" and value or nil
end

--- What must be found in the subject of the client's certificate. A regex that can't be used lets no client through.
local function subject(key, given)
  local regex = given.auth_tls_match_cn
  if not regex then
    return nil
  end
  local _, err = ngx.re.find("", regex, "jo")
  if err then
    ngx.log(ngx.ERR, "host ", key, ": regex ", regex, ": ", err, ", every request is refused")
    return "(?!)"
  end
  return regex
end

--- Values of the variables of bandwidth; nil where the global setting is used.
local function bandwidth(given)
  local rate, after = given.limit_rate, given.limit_rate_after
  if rate or after then
    return { rate = rate and rate .. "k", after = after and after .. "k" }
  end
end

--- What few routes have, apart from the rest: a request that need not look there touches less memory.
local function extras(key, given, config)
  local extra = {
    access = access.compile(given, config),
    denied = given.denied,
    forbidden = given.forbidden,
    verified = given.verified,
    passes_certificate = given.auth_tls_pass_certificate_to_upstream,
    subject = subject(key, given),
    keep_slash = either(given.preserve_trailing_slash, config.preserve_trailing_slash) or nil,
    errors = given.errors and errors.compile(given.errors),
    log_rewrite = given.enable_rewrite_log,
    tracing = tracing.compile(given.tracing, config),
    bandwidth = bandwidth(given),
    limits = given.limits and limits.compile(given.limits, (given.namespace or "") .. "/" .. (given.ingress or "")),
    no_log = given.enable_access_log == false or nil,
    proxying = proxying.compile(given),
    redirects = redirect.compile(given.redirects),
    response = response.compile(given),
    timeouts = timeouts(given),
    vhost = given.upstream_vhost and expand.compile(given.upstream_vhost),
  }
  return extra
end

--- The same with what depends on the profile.
local function in_profile(key, policy, profile, config)
  local known = config.profiles_of(key)[profile]
  local extra = {}
  for name, value in pairs(policy.extra) do
    extra[name] = value
  end
  if not known then
    -- What the profile protects with is not there: the route is closed.
    extra.denied, extra.unknown, extra.response, profile = true, true, nil, DEFAULT
  elseif policy.given.mirror and profile ~= DEFAULT then
    extra.copies = known
  end
  return { target = inner.location(profile), answers = config.answering[profile] or false, extra = next(extra) and extra or false }
end

--- The same with what is of one path.
local function of_path(key, given, common)
  if not given.rewrite_target and not given.x_forwarded_prefix then
    return common
  end
  local extra = { rewrite = rule(key, given), prefix = given.x_forwarded_prefix and expand.compile(given.x_forwarded_prefix) }
  for name, value in pairs(common or {}) do
    extra[name] = value
  end
  return next(extra) and extra or false
end

--- Compiles what the routes of an Ingress have in common, lists and all: once, however many routes refer to it.
-- Phase: any.
-- @tparam string key of the host, for the log
-- @tparam table given the decoded policy
-- @tparam table config from `narthex.config`
-- @treturn table what `compile` takes
function M.policy(key, given, config)
  return { given = given, extra = extras(key, given, config), profiles = {} }
end

--- Key of the backend.
local function backend_of(given, common)
  if not given.service then
    return backend.DEFAULT
  end
  return common.namespace .. "/" .. given.service .. ":" .. given.port
end

--- Compiles a route of a host record.
-- Phase: any.
-- @tparam string key of the host, for the log
-- @tparam table given the decoded location
-- @tparam table policy from `policy`
-- @tparam table config from `narthex.config`
-- @treturn table; its `host` is of the record
function M.compile(key, given, policy, config)
  local common, profile = policy.given, given.profile or DEFAULT
  local there = policy.profiles[profile] or in_profile(key, policy, profile, config)
  policy.profiles[profile] = there
  return {
    series = false,
    namespace = text(common.namespace),
    ingress = text(common.ingress),
    service = text(given.service),
    port = text(given.port),
    path = text(given.path),
    backend = backend_of(given, common),
    target = there.target,
    answers = there.answers,
    is_inline = config.serve_base_inline and there.target == BASE,
    redirect = redirect_mode(given.path, common, config),
    body_limit = body_limit(common, config),
    issues_cookie = common.issues_cookie or false,
    extra = of_path(key, given, there.extra),
    pool = false,
    pool_revision = -1,
  }
end
jit.off(M.policy, true)
jit.off(M.compile, true)

--- The backend of a route, looked up once per revision.
-- Phase: any with `ngx.shared`.
-- @tparam table route
-- @tparam number revision
-- @treturn table|boolean see `narthex.balance.backend`; false if there is none
function M.pool(route, revision)
  if route.pool_revision ~= revision then
    route.pool, route.pool_revision = backend.get(route.backend, revision) or false, revision
  end
  return route.pool
end

--- The route for what no rule matches: the default backend, without identity or redirect.
-- Phase: any.
-- @tparam table config from `narthex.config`
-- @tparam string key of the host; that of the catch-all host is logged only on request
-- @treturn table
function M.default(config, key)
  local catch_all = key == "_"
  local extra = { no_log = catch_all and not config.enable_access_log_for_default_backend or nil, tracing = tracing.compile(nil, config) }
  return {
    series = false,
    backend = backend.DEFAULT,
    target = BASE,
    answers = config.answering[DEFAULT] or false,
    is_inline = config.serve_base_inline,
    redirect = M.PLAIN,
    body_limit = body_limit({}, config),
    issues_cookie = false,
    extra = next(extra) and extra or false,
    pool = false,
    pool_revision = -1,
  }
end

return M
