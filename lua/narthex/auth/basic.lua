--- Basic authentication (RFC 7617).
-- @module narthex.auth.basic

local ngx = ngx
local password = require("narthex.auth.password")
local users = require("narthex.auth.users")

local find = string.find
local match = string.match
local sub = string.sub

local M = {}

--- Whether the request's credentials are those of a user. Phase: rewrite.
-- @tparam table check `users` and `realm` of the route's record
-- @tparam table var `ngx.var`
-- @treturn ?boolean nil: it can't be checked now
function M.is_granted(check, var)
  local encoded = match(var.http_authorization or "", "^[Bb][Aa][Ss][Ii][Cc] +([^ ]+) *$")
  local text = encoded and ngx.decode_base64(encoded)
  local colon = text and find(text, ":", 1, true)
  if not colon then
    return false
  end
  local hash = users.hash(check.users, sub(text, 1, colon - 1))
  return hash ~= nil and password.matches(check.namespace, sub(text, colon + 1), hash)
end

--- The challenge for a client without credentials. Phase: rewrite.
-- @tparam table check
-- @treturn string value of `WWW-Authenticate`
function M.challenge(check)
  return 'Basic realm="' .. check.realm .. '"'
end

return M
