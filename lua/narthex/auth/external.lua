--- External authentication: another service is asked about each request, with NGINX's `auth_request` in the location of the profile.
--
-- The order of a request: `open` (rewrite), `ask` (the request to the service begins), `answered` (its answer is there), then `admit` if
-- it consents, or `sign_in` if it says 401 and there is somewhere to log in, and at last `add_cookies`.
-- @module narthex.auth.external

local ngx = ngx
local backend = require("narthex.balance.backend")
local context = require("narthex.request.context")
local expand = require("narthex.request.expand")
local outside = require("narthex.balance.outside")
local proxying = require("narthex.route.proxying")
local reason = require("narthex.request.reason")
local route_identity = require("narthex.route.identity")
local store = require("narthex.state.store")
local verdicts = require("narthex.auth.verdicts")

local escape_uri = ngx.escape_uri
local find = string.find
local gsub = string.gsub

local FORBIDDEN, UNAUTHORIZED, NO_CONTENT = 403, 401, 204
--- With which statuses cookies of the service go to the client.
local COOKIE_STATUSES = {
  [200] = true, [201] = true, [204] = true, [206] = true, [301] = true, [302] = true, [303] = true, [304] = true,
  [307] = true, [308] = true,
}

local M = {}

-- Where the client came from, for `auth-signin`: the predecessor's module for NGINX sets it.
expand.define("escaped_request_uri", function(var)
  return escape_uri(var.request_uri)
end)

local function compile_cache(given, policy)
  local cache = given.cache
  if not cache then
    return nil
  end
  -- Equal keys of other Ingresses, or of another service, are others; those of other locations as well (`cache_key`).
  local headers = table.concat(given.auth_response_headers or {}, ",")
  local identity = { policy.namespace or "", policy.ingress or "", given.auth_url, given.auth_method or "GET", headers }
  -- Part of what a verdict is known by.
  route_identity.want("location_path")
  return { identity = table.concat(identity, "\n"), key = expand.compile(cache.auth_cache_key), rules = cache.auth_cache_duration or {} }
end

--- Compiles what a policy asks for. Phase: any.
-- @tparam table given `external_auth` of the policy
-- @tparam table policy the decoded policy
-- @treturn table
function M.compile(given, policy)
  return {
    url = expand.compile(given.auth_url),
    trusted = given.trusted,
    upstream = given.upstream,
    host = expand.compile(given.host),
    method = given.auth_method,
    signin = given.auth_signin and expand.compile(given.auth_signin),
    parameter = given.auth_signin_redirect_param,
    headers = given.auth_response_headers or {},
    redirect = given.auth_request_redirect and expand.compile(given.auth_request_redirect),
    always_cookies = given.auth_always_set_cookie,
    cache = compile_cache(given, policy),
    share = given.auth_keepalive_share_vars ~= nil and tostring(given.auth_keepalive_share_vars) or nil,
  }
end

--- The credentials of a checked password are no business of the backend. Phase: rewrite, access.
-- @tparam table var `ngx.var`
function M.hide_credentials(var)
  -- The log wants the name, which NGINX reads from the header when it is first asked for.
  local _ = var.remote_user
  context.open(var).credentials = var.http_authorization
  ngx.req.clear_header("Authorization")
end

--- Remembers what the location of the profile is to do. Phase: rewrite.
-- @tparam table var `ngx.var`
-- @tparam table route whose `extra.access` is from `narthex.auth.access`
-- @tparam ?boolean granted another check's consent is enough: the service is not asked
-- @tparam ?number status with which another check refused; the service's consent is enough
-- @tparam ?string challenge of that check
function M.open(var, route, granted, status, challenge)
  local access = route.extra.access
  if access.external.share then
    var.auth_keepalive_share_vars = access.external.share
  end
  context.open(var).auth = {
    rule = access.external, route = route, granted = granted, status = status, challenge = challenge,
    has_password = access.password ~= nil,
  }
end

local function auth_of(var)
  local state = context.get(var)
  return state and state.auth
end

local function cache_key(cache, var)
  return ngx.sha1_bin(cache.identity .. "\n" .. var.location_path .. "\n" .. var.host .. "\n" .. expand.eval(cache.key, var))
end

--- Ends the request to the service with an answer that is known already.
local function end_with(auth, status, challenge)
  auth.is_known = true
  if challenge then
    ngx.header["WWW-Authenticate"] = challenge
  end
  return ngx.exit(status)
end

--- Prepares the request to the service, or answers in its place. Phase: rewrite, of the request to the service.
function M.ask()
  local var = ngx.var
  if not ngx.is_subrequest then
    -- A backend sent the request here.
    return ngx.exit(ngx.HTTP_NOT_FOUND)
  end
  local auth = auth_of(var)
  if not auth then
    return ngx.exit(ngx.HTTP_INTERNAL_SERVER_ERROR)
  end
  if auth.granted then
    return end_with(auth, NO_CONTENT)
  end
  local rule = auth.rule
  if rule.cache then
    auth.key = cache_key(rule.cache, var)
    local verdict = verdicts.get(auth.key)
    if verdict then
      auth.headers = verdict.headers
      return end_with(auth, verdict.status < 300 and NO_CONTENT or verdict.status, verdict.challenge)
    end
  end
  local url = expand.url(rule.url, var)
  local target, err = outside.lead(url, rule.trusted, rule.upstream)
  if not target then
    ngx.log(ngx.ERR, "auth-url ", err, ", so no request passes: ", url)
    return ngx.exit(ngx.HTTP_INTERNAL_SERVER_ERROR)
  end
  var.narthex_auth_url = target
  var.narthex_auth_host = expand.line(rule.host, var)
  var.narthex_auth_redirect = rule.redirect and expand.line(rule.redirect, var) or var.request_uri
  if rule.method then
    var.narthex_auth_method = rule.method
    var.narthex_auth_uri = var.request_uri
    var.narthex_auth_scheme = var.pass_access_scheme
  end
end

--- Notes that the service does not consent, or gives no answer that NGINX knows: then the client gets 500.
local function note_refusal(var, auth, status)
  if status == UNAUTHORIZED and auth.rule.signin then
    -- The client is sent there.
    return
  elseif status == UNAUTHORIZED or status == FORBIDDEN then
    return reason.refuse(var, auth.route, status, reason.WORDS.AUTH_SERVICE)
  end
  return reason.refuse(var, auth.route, ngx.HTTP_INTERNAL_SERVER_ERROR, reason.WORDS.AUTH_SERVICE_FAILED)
end

--- Takes what the service answered. Phase: header_filter, of the request to the service.
function M.answered()
  local var = ngx.var
  local auth = auth_of(var)
  if not auth then
    return
  end
  local status = ngx.status
  if status >= 300 then
    -- Whom no endpoint is chosen for, none is remembered for.
    context.get(var).affinity = nil
  end
  if not auth.is_known then
    local headers = {}
    for _, name in ipairs(auth.rule.headers) do
      headers[name] = var["upstream_http_" .. gsub(name, "-", "_")]
    end
    auth.headers, auth.cookies = headers, ngx.header["Set-Cookie"]
    if auth.key and var.upstream_status then
      local challenge = status == UNAUTHORIZED and var.upstream_http_www_authenticate or nil
      local answer = { status = status, headers = headers, challenge = challenge }
      verdicts.keep(auth.key, auth.rule.cache.rules, answer, var)
    end
  end
  -- Another check would have been content with a password: the answer says so.
  if status == FORBIDDEN and auth.status == UNAUTHORIZED then
    ngx.status = UNAUTHORIZED
    ngx.header["WWW-Authenticate"] = auth.challenge
  end
  if status >= 300 then
    note_refusal(var, auth, ngx.status)
  end
end

--- Lets the request go to the backend, with the headers that the service gave. Phase: access, after the service consented.
function M.admit()
  local var = ngx.var
  local auth = auth_of(var)
  if not auth then
    return ngx.exit(ngx.HTTP_INTERNAL_SERVER_ERROR)
  end
  if auth.has_password then
    M.hide_credentials(var)
  end
  -- The backend believes these headers: they are the service's also where another check's consent was enough, and then there are none.
  local headers = not auth.granted and auth.headers or {}
  for _, name in ipairs(auth.rule.headers) do
    if headers[name] then
      ngx.req.set_header(name, headers[name])
    else
      ngx.req.clear_header(name)
    end
  end
  local prefix = context.get(var).prefix
  if prefix then
    proxying.set_prefix(prefix)
  end
  local pool = backend.get(var.narthex_backend, store.revision())
  -- With a status for it, copies are made first.
  if (not pool or not pool.balancer) and var.narthex_missing == "" then
    local status = var.narthex_backend == backend.DEFAULT and ngx.HTTP_NOT_FOUND or ngx.HTTP_SERVICE_UNAVAILABLE
    reason.refuse(var, auth.route, status, reason.missing(auth.route))
    return ngx.exit(status)
  end
end

--- Sends the client to where it can log in. Does not return. Phase: rewrite.
-- @tparam table var `ngx.var`
-- @tparam table rule from `compile`
function M.redirect(var, rule)
  local target = expand.url(rule.signin, var)
  if rule.parameter then
    local original = var.pass_access_scheme .. "://" .. (var.http_host or var.host) .. escape_uri(var.request_uri)
    target = target .. (find(target, "?", 1, true) and "&" or "?") .. rule.parameter .. "=" .. original
  end
  ngx.header["WWW-Authenticate"] = nil
  reason.set(var, reason.WORDS.REDIRECT_SIGN_IN)
  return ngx.redirect(target, ngx.HTTP_MOVED_TEMPORARILY)
end

--- The same after a 401 in the location of a profile. Phase: rewrite.
function M.sign_in()
  local var = ngx.var
  local auth = auth_of(var)
  if not auth or not auth.rule.signin then
    return ngx.exit(UNAUTHORIZED)
  end
  return M.redirect(var, auth.rule)
end

local function as_list(value)
  return type(value) == "table" and value or { value }
end

--- Hands the service's cookies to the client. Phase: header_filter.
-- @tparam table auth what `open` remembered
function M.add_cookies(auth)
  if not auth.cookies or ngx.is_subrequest or not (auth.rule.always_cookies or COOKIE_STATUSES[ngx.status]) then
    return
  end
  local cookies = {}
  for _, list in ipairs({ as_list(ngx.header["Set-Cookie"]), as_list(auth.cookies) }) do
    for _, cookie in ipairs(list) do
      cookies[#cookies + 1] = cookie
    end
  end
  ngx.header["Set-Cookie"] = cookies
end

return M
