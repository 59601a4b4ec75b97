--- Which hosts are TLS-enabled: those with a certificate entry of their own or of their first-label wildcard.
-- @module narthex.tls.hosts

local store = require("narthex.state.store")
local tables = require("narthex.state.tables")

local byte = string.byte
local find = string.find
local sub = string.sub

local LIMIT = 16384
local STAR = byte("*")

local M = {}

--- Stands for no certificate: that of the wildcard above does not count for the name.
M.NONE = "-"

local names, PREFIX = tables.BY_NAME.server.dict, tables.BY_NAME.server.prefix
local own_names = store.new(tables.BY_NAME.server, function(_, address) return { address = address } end, LIMIT)

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
  return name and names:get(PREFIX .. name)
end

--- The entry of the wildcard above a name without one of its own.
local function find_above(name)
  local above = M.entry(M.wildcard(name))
  -- Since the first look one may have come that takes the name from the wildcard: it comes before the wildcard's.
  return above and M.entry(name) or above
end

--- The entry that counts for a name: its own, else that of the wildcard above. Phase: any with `ngx.shared`.
-- @tparam string name lower case
-- @treturn ?string content address, or `NONE`
function M.find(name)
  return M.entry(name) or find_above(name)
end

--- The same for many handshakes with names that have an entry of their own: it is read once after a change. Phase: any with `ngx.shared`.
-- @tparam string name lower case
-- @tparam number revision
-- @treturn ?string content address, or `NONE`
function M.shown(name, revision)
  local own = own_names:get(name, revision)
  -- Not that of the wildcard: it must not be older than that there is none of its own.
  return own and own.address or find_above(name)
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
  local entry
  if find(host, "^[%w_-]+%.") then
    entry = M.find(host)
  else
    entry = M.entry(host)
  end
  return entry ~= nil and entry ~= M.NONE
end

return M
