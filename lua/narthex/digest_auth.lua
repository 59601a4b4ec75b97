--- Digest authentication (RFC 7616 with MD5, the one that clients have).
--
-- A nonce is a time and a keyed digest of it, so no worker keeps any. It is good for five minutes: so long an answer that somebody
-- recorded can be sent again for the same method and URI.
-- @module narthex.digest_auth

local ngx = ngx
local users = require("narthex.users")

local format = string.format
local gmatch = string.gmatch
local gsub = string.gsub
local lower = string.lower
local match = string.match
local md5 = ngx.md5
local tonumber = tonumber

local LIFETIME_SECONDS = 300
--- Name of the key of nonces in the shared dictionary. No record's key lacks a colon.
local KEY = "nonce_key"

local M = {}

local state = ngx.shared.configuration_data

--- Makes the key of nonces, unless an earlier configuration did. Phase: init.
-- @tparam string secret random bytes
function M.seed(secret)
  local ok, err = state:safe_add(KEY, secret)
  if not ok and err ~= "exists" then
    error("narthex: shared dictionary configuration_data: " .. err)
  end
end

local function sign(time, check)
  local text = time .. ":" .. check.users .. ":" .. check.realm
  return (gsub(ngx.hmac_sha1(state:get(KEY), text), ".", function(one) return format("%02x", one:byte()) end))
end

--- Whether a nonce is ours, and whether it is still good.
local function judge(nonce, check)
  local time, mark = match(nonce or "", "^(%x+)%.(%x+)$")
  if not time or mark ~= sign(time, check) then
    return false, false
  end
  local age = ngx.time() - tonumber(time, 16)
  return true, age >= 0 and age <= LIFETIME_SECONDS
end

--- Parameters of the header; quoted texts lose their quotes.
local function parse(header)
  local list = match(header or "", "^[Dd][Ii][Gg][Ee][Ss][Tt] +(.+)$")
  if not list then
    return nil
  end
  local given = {}
  for name, value in gmatch(list, '([%w]+) *= *"([^"]*)"') do
    given[lower(name)] = value
  end
  for name, value in gmatch(gsub(list, '"[^"]*"', ""), "([%w]+) *= *([^%s,]+)") do
    given[lower(name)] = given[lower(name)] or value
  end
  return given
end

local function response(given, hash)
  local second = md5(ngx.req.get_method() .. ":" .. given.uri)
  if given.qop then
    return md5(hash .. ":" .. given.nonce .. ":" .. given.nc .. ":" .. given.cnonce .. ":" .. given.qop .. ":" .. second)
  end
  return md5(hash .. ":" .. given.nonce .. ":" .. second)
end

local function is_complete(given)
  local with_count = given.qop == nil or given.qop == "auth" and given.nc and given.cnonce
  return given.username and given.realm and given.uri and given.response and with_count
end

--- Whether the request proves that its sender knows a user's password. Phase: rewrite.
-- @tparam table check `users` and `realm` of the route's record
-- @tparam table var `ngx.var`
-- @treturn boolean
-- @treturn ?boolean whether only the nonce is too old
function M.is_granted(check, var)
  local given = parse(var.http_authorization)
  if not given or not is_complete(given) or given.realm ~= check.realm or given.uri ~= var.request_uri then
    return false
  end
  local ours, fresh = judge(given.nonce, check)
  local hash = ours and users.hash(check.users, given.username .. ":" .. given.realm)
  if not hash or response(given, hash) ~= lower(given.response) then
    return false
  end
  return fresh, not fresh
end

--- What a client without credentials is told. Phase: rewrite.
-- @tparam table check
-- @tparam ?boolean stale the credentials were right, but their nonce is too old
-- @treturn string value of `WWW-Authenticate`
function M.challenge(check, stale)
  local time = format("%x", ngx.time())
  local nonce = time .. "." .. sign(time, check)
  return 'Digest algorithm=MD5, qop="auth", realm="' .. check.realm .. '", nonce="' .. nonce .. '"' .. (stale and ", stale=true" or "")
end

return M
