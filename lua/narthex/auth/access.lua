--- Access control: lists of addresses, passwords, and whether another service is to be asked; combined by `satisfy`.
-- @module narthex.auth.access

local ngx = ngx
local basic_auth = require("narthex.auth.basic")
local context = require("narthex.request.context")
local digest_auth = require("narthex.auth.digest")
local errors = require("narthex.route.errors")
local external_auth = require("narthex.auth.external")
local networks = require("narthex.request.networks")
local reason = require("narthex.request.reason")

local FORBIDDEN, UNAUTHORIZED, UNAVAILABLE = 403, 401, 503
local WORDS = {
  [FORBIDDEN] = reason.WORDS.SOURCE_ADDRESS, [UNAUTHORIZED] = reason.WORDS.PASSWORD, [UNAVAILABLE] = reason.WORDS.PASSWORD_BUSY,
}

local M = {}

local function compile_list(list)
  if not list or not list[1] then
    return nil
  end
  local set, err = networks.compile(list)
  if not set then
    -- An empty set has no members: a list that can't be read lets no client through.
    ngx.log(ngx.ERR, err, ", every request is refused")
    return nil, true
  end
  return set
end

local function compile_lists(given)
  local deny, unreadable = compile_list(given.denylist_source_range)
  local allow, unreadable_too = compile_list(given.allowlist_source_range)
  if unreadable or unreadable_too then
    return { closed = true }
  end
  return (deny or allow) and { deny = deny, allow = allow }
end

local function compile_password(policy)
  local given = policy.password
  if not given then
    return nil
  end
  return {
    scheme = given.digest and digest_auth or basic_auth,
    users = given.users,
    realm = given.auth_realm or "",
    namespace = policy.namespace or "",
  }
end

--- Compiles what a policy asks for. Phase: any.
-- @tparam table given the decoded policy
-- @tparam table config from `narthex.config`
-- @treturn ?table what `check` takes; nil if everybody may pass
function M.compile(given, config)
  local global = { denylist_source_range = config.denylist_source_range, allowlist_source_range = config.whitelist_source_range }
  local access = {
    lists = given.namespace and compile_lists(given.addresses or global) or nil,
    password = compile_password(given),
    external = given.external_auth and external_auth.compile(given.external_auth, given) or nil,
  }
  if next(access) then
    access.any = given.satisfy_any
    return access
  end
end

--- true: may pass, false: may not, nil: the lists say nothing.
local function ask_lists(lists, var)
  local address = var.binary_remote_addr
  if lists.closed or lists.deny and networks.contains(lists.deny, address) then
    return false
  end
  if lists.allow then
    return networks.contains(lists.allow, address)
  end
end

--- Ends the request. A client that is to log in elsewhere is sent there.
local function refuse(var, route, status, challenge)
  local external = route.extra.access.external
  local state = context.get(var)
  if state then
    -- Whom no endpoint is chosen for, none is remembered for.
    state.affinity = nil
  end
  if status == UNAUTHORIZED and external and external.signin then
    return external_auth.redirect(var, external)
  end
  if challenge then
    ngx.header["WWW-Authenticate"] = challenge
  elseif status == UNAVAILABLE then
    ngx.header["Retry-After"] = 1
  end
  if status == UNAUTHORIZED and not var.http_authorization then
    -- As every browser asks first: nothing to log.
    reason.set(var, WORDS[status])
    return errors.exit(var, route, status)
  end
  return errors.exit(var, route, status, WORDS[status])
end

--- The verdict of lists and password: whether one has consented, and the status and challenge of one that has not.
local function judge(var, access)
  local verdict = access.lists and ask_lists(access.lists, var)
  if verdict == false and not access.any then
    return false, FORBIDDEN
  end
  local granted, status = verdict, verdict == false and FORBIDDEN or nil
  local password = access.password
  if not password or granted and access.any then
    return granted, status
  end
  local is_right, stale = password.scheme.is_granted(password, var)
  if is_right then
    return true, nil
  elseif is_right == nil then
    return granted, UNAVAILABLE
  end
  return granted, UNAUTHORIZED, password.scheme.challenge(password, stale)
end

--- Lets the request go on, or ends it. Where another service has the last word, the profile's location asks it.
-- Phase: rewrite.
-- @tparam table var `ngx.var`
-- @tparam table route whose `extra.access` is from `compile`
function M.check(var, route)
  local access = route.extra.access
  local granted, status, challenge = judge(var, access)
  if status and not (access.any and (granted or access.external)) then
    return refuse(var, route, status, challenge)
  end
  if access.external then
    external_auth.open(var, route, access.any and granted, status, challenge)
  elseif access.password then
    external_auth.hide_credentials(var)
  end
end

return M
