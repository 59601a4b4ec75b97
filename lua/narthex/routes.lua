--- One route: its fields resolved against the global settings, so that a request only reads them.
-- @module narthex.routes

local ngx = ngx
local access = require("narthex.access")
local backend = require("narthex.backend")
local balancer = require("narthex.balancer")
local errors = require("narthex.errors")
local expand = require("narthex.expand")
local inner = require("narthex.inner")
local limits = require("narthex.limits")
local proxying = require("narthex.proxying")
local redirect = require("narthex.redirect")
local response = require("narthex.response")
local rewrite = require("narthex.rewrite")
local tracing = require("narthex.tracing")

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

local function redirect_mode(given, config)
  local path = given.path or ""
  for _, exempt in ipairs(config.no_tls_redirect_locations) do
    if sub(path, 1, #exempt) == exempt then
      return M.PLAIN
    end
  end
  if either(given.fssl, config.force_ssl_redirect) then
    return M.ALWAYS
  end
  return either(given.ssl, config.ssl_redirect) and M.IF_TLS or M.PLAIN
end

local function body_limit(given, config)
  local limit = given.body or config.body_limit_bytes
  return limit > 0 and limit or math.huge
end

--- `connect,send,read,tries`, empty where the global setting holds.
local function timeouts(given)
  if given.to or given.tries then
    balancer.use_timeouts()
    return table.concat(given.to or { "", "", "" }, ",") .. "," .. (given.tries or "")
  end
end

local function rule(key, given)
  if not given.rw then
    return nil
  end
  local compiled, err = rewrite.compile(given.rw[1], given.rw[2])
  if not compiled then
    ngx.log(ngx.ERR, "host ", key, ": rewrite regex ", given.rw[1], ": ", err, ", nothing is rewritten")
  end
  return compiled
end

--- An empty text is as good as none: the variable is empty already.
local function text(value)
  return value ~= "" and value or nil
end

--- What must be found in the subject of the client's certificate. A regex that can't be used lets nobody through.
local function subject(key, given)
  if not given.cn then
    return nil
  end
  local _, err = ngx.re.find("", given.cn, "jo")
  if err then
    ngx.log(ngx.ERR, "host ", key, ": regex ", given.cn, ": ", err, ", nobody is let through")
    return "(?!)"
  end
  return given.cn
end

--- What few routes have, apart from the rest: a request that need not look there touches less memory.
local function extras(key, given, config)
  local extra = {
    access = access.compile(given, config),
    deny = given.deny,
    forbid = given.forbid,
    certs = given.certs,
    passes_certificate = given.cert,
    subject = subject(key, given),
    keep_slash = either(given.keep, config.preserve_trailing_slash) or nil,
    errors = given.errs and errors.compile(given.errs.codes, given.errs.be),
    log_rewrite = given.rlog,
    tracing = tracing.compile(given.trace, config),
    copies = given.mir and config.profiles_of(key)[given.prof] or nil,
    bandwidth = given.rate and { given.rate[1] .. "k", given.rate[2] .. "k" },
    limits = given.lim and limits.compile(given.lim, (given.ns or "") .. "/" .. (given.ing or "")),
    no_log = given.nolog,
    proxying = proxying.compile(given),
    prefix = given.xfp and expand.compile(given.xfp),
    redirects = redirect.compile(given.red),
    response = response.compile(given),
    rewrite = rule(key, given),
    timeouts = timeouts(given),
    vhost = given.vhost and expand.compile(given.vhost),
  }
  return next(extra) and extra or false
end

--- Compiles a route of a host record.
-- Phase: any.
-- @tparam string key of the host, for the log
-- @tparam table given the decoded route
-- @tparam table config from `narthex.config`
-- @treturn table; its `host` is of the record
function M.compile(key, given, config)
  local profile = given.prof or DEFAULT
  if not config.profiles_of(key)[profile] then
    -- What the profile protects with is not there: the route is closed. Only a worker that is about to end can meet it.
    given.deny, profile = true, DEFAULT
  end
  local target = inner.location(profile)
  return {
    series = false,
    namespace = text(given.ns),
    ingress = text(given.ing),
    service = text(given.svc),
    port = text(given.port),
    path = text(given.path),
    backend = text(given.be) or backend.DEFAULT,
    target = target,
    answers = config.answering[profile] or false,
    is_inline = config.serve_base_inline and target == BASE,
    redirect = redirect_mode(given, config),
    body_limit = body_limit(given, config),
    issues_cookie = given.stick or false,
    extra = extras(key, given, config),
    pool = false,
    pool_revision = -1,
  }
end
jit.off(M.compile, true)

--- The backend of a route, looked up once per revision.
-- Phase: any with `ngx.shared`.
-- @tparam table route
-- @tparam number revision
-- @treturn table|boolean see `narthex.backend`; false if there is none
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
  local extra = { no_log = catch_all and not config.log_default_backend or nil, tracing = tracing.compile(nil, config) }
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
