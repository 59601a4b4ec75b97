--- Digest authentication (RFC 7616 with MD5, the one that clients have).
--
-- A nonce is a time, a number that no other has, and a keyed digest of both, so unused ones are kept nowhere. It is good for five
-- minutes, and with each count (`nc`) once, in any order: what was accepted is kept that long, in a dictionary of which each namespace
-- has its share; one that has used it up loses its own oldest.
-- @module narthex.auth.digest

local ngx = ngx
local dictionaries = require("narthex.state.dictionaries")
local owned = require("narthex.state.owned")
local users = require("narthex.auth.users")

local format = string.format
local gmatch = string.gmatch
local gsub = string.gsub
local lower = string.lower
local match = string.match
local md5 = ngx.md5
local random = math.random
local tonumber = tonumber

local LIFETIME_SECONDS = 300
--- Name of the key of nonces in the shared dictionary. No record's key lacks a colon.
local KEY = "nonce_key"

local M = {}

--- Challenges of this worker so far.
local issued = 0

local state, used = dictionaries.get("configuration_data"), owned.new(dictionaries.get("auth_nonces"))

--- Makes the key of nonces, unless an earlier configuration did. Phase: init.
-- @tparam string secret random bytes
function M.seed(secret)
  local ok, err = state:safe_add(KEY, secret)
  if not ok and err ~= "exists" then
    error("narthex: shared dictionary configuration_data: " .. err)
  end
end

local function sign(serial, check)
  local text = serial .. ":" .. check.users .. ":" .. check.realm
  return (gsub(ngx.hmac_sha1(state:get(KEY), text), ".", function(one) return format("%02x", one:byte()) end))
end

--- Whether a nonce is ours, and whether it is still good.
local function judge(nonce, check)
  local serial, time, mark = match(nonce or "", "^((%x+)%.%x+)%.(%x+)$")
  if not serial or mark ~= sign(serial, check) then
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
  return md5(hash .. ":" .. given.nonce .. ":" .. given.nc .. ":" .. given.cnonce .. ":" .. given.qop .. ":" .. second)
end

--- RFC 7616 has every answer to our challenge say `qop`, and with it `nc` and `cnonce`. Without a count there is no telling a replay.
local function is_complete(given)
  return given.username and given.realm and given.uri and given.response and given.cnonce
    and given.qop == "auth" and given.nc and match(given.nc, "^%x%x%x%x%x%x%x%x$")
end

--- Takes a count of a nonce. False if it was taken before.
local function take(check, given)
  local ok, err = used:add(check.namespace, given.nonce .. lower(given.nc), true, LIFETIME_SECONDS)
  if not ok and err ~= "exists" then
    ngx.log(ngx.ERR, "shared dictionary auth_nonces: ", err, ", the request is refused")
  end
  return ok
end

--- Whether the request proves that its sender knows a user's password. Phase: rewrite.
-- @tparam table check `users` and `realm` of the route's record
-- @tparam table var `ngx.var`
-- @treturn boolean
-- @treturn ?boolean whether only the nonce is too old, or was used with this count before
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
  local good = fresh and take(check, given)
  return good, not good
end

--- The challenge for a client without credentials. Phase: rewrite.
-- @tparam table check
-- @tparam ?boolean stale the credentials were right, but their nonce can't be used any more
-- @treturn string value of `WWW-Authenticate`
function M.challenge(check, stale)
  issued = issued + 1
  local unique = format("%x.%x%08x%x", ngx.time(), ngx.worker.pid(), random(0, 0x7fffffff), issued)
  local nonce = unique .. "." .. sign(unique, check)
  return 'Digest algorithm=MD5, qop="auth", realm="' .. check.realm .. '", nonce="' .. nonce .. '"' .. (stale and ", stale=true" or "")
end

return M
