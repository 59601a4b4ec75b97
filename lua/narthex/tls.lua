--- Which hosts are TLS-enabled: those with a certificate entry of their own or of their first-label wildcard.
-- @module narthex.tls

local ngx = ngx

local byte = string.byte
local find = string.find
local sub = string.sub

local STAR = byte("*")

local M = {}

local names = ngx.shared.certificate_servers

--- Name of the certificate entry of the wildcard that covers a host. Phase: any.
-- @tparam string host lower case
-- @treturn ?string
function M.wildcard(host)
  local dot = find(host, ".", 1, true)
  return dot and "*" .. sub(host, dot)
end

--- Content address of the certificate under exactly this name. Phase: any with `ngx.shared`.
-- @tparam ?string name
-- @treturn ?string
function M.entry(name)
  return name and names:get("s:" .. name)
end

--- Whether plain HTTP to a host is to be redirected. Phase: any with `ngx.shared`.
--
-- `_` (a request without a host) and `*.…` are names in the table and no hosts; a wildcard covers what it covers among the routes.
-- @tparam string host lower case
-- @treturn boolean
function M.covers(host)
  if host == "_" or byte(host) == STAR then
    return false
  end
  return (M.entry(host) or find(host, "^[%w_-]+%.") and M.entry(M.wildcard(host)) or nil) ~= nil
end

return M
