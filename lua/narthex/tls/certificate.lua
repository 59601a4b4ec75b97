--- Phase entry: the certificate of a handshake (`ssl_certificate_by_lua`).
--
-- Name from the client, else its first-label wildcard, else `_`; where unknown names are refused, none for these. Parsed pairs are kept by
-- content address, so a renewed certificate is another entry, up to a number of bytes. A record that can't be used is logged once, and the
-- default certificate answers, else the server's static one.
-- @module narthex.tls.certificate

local ngx = ngx
local cache = require("narthex.tls.cache")
local host = require("narthex.route.host")
local keypair = require("narthex.tls.keypair")
local store = require("narthex.state.store")
local ssl = require("ngx.ssl")
local staple = require("narthex.tls.staple")
local tables = require("narthex.state.tables")
local tls = require("narthex.tls.hosts")

local byte = string.byte
local lower = string.lower
local sub = string.sub

--- Bytes of parsed pairs: eight thousand, each with one certificate. Those of ten thousand hosts cost a worker less than 100 MB with it.
local LIMIT = 56 * 1024 * 1024
--- What is kept of a record that can't be used.
local UNUSABLE_BYTES = 1024
local DOT = byte(".")

local M = {}

local records, PREFIX = tables.BY_NAME.certificate.dict, tables.BY_NAME.certificate.prefix
local pairs_by_address = cache.new(LIMIT, function(pair)
  if pair then
    keypair.free(pair)
  end
end)

local refuses_unknown = false

--- Takes the global settings. Phase: init.
-- @tparam table config from `narthex.config`
function M.setup(config)
  refuses_unknown = config.ssl_reject_handshake
end

--- The name that the client asks for, as records have it, or nil.
local function asked_name()
  local name = ssl.server_name()
  if not name then
    return nil
  end
  name = lower(name)
  return byte(name, -1) == DOT and sub(name, 1, -2) or name
end

--- Content address for a name, or nil.
local function address_of(name, revision)
  if name then
    local address = tls.shown(name, revision)
    if address and address ~= tls.NONE then
      return address
    end
  end
  return tls.shown("_", revision)
end

--- Parses a record, and tries on this connection what could be refused, while the static certificate is still there.
local function load(address)
  local text = records:get(PREFIX .. address)
  if not text then
    -- Not remembered: it may be on its way.
    ngx.log(ngx.ERR, "certificate ", address, ": no such record, the default one is used")
    return nil
  end
  local pair, err = keypair.parse(text)
  if pair then
    local ok
    ok, err = keypair.set(pair)
    if not ok then
      keypair.free(pair)
      pair = nil
    end
  end
  if not pair then
    ngx.log(ngx.ERR, "certificate ", address, ": ", err, ", the default one is used")
    pairs_by_address:add(address, false, UNUSABLE_BYTES)
    return nil
  end
  pairs_by_address:add(address, pair, keypair.bytes(pair))
  return pair
end

--- The parsed pair of an address, unless it can't be used.
local function usable(address)
  local pair = pairs_by_address:get(address)
  if pair == nil then
    return load(address)
  end
  return pair
end

--- Sets the certificate for the name that the client asks for. Phase: ssl_cert.
function M.select()
  local name = asked_name()
  if refuses_unknown and not (name and host.is_known(name)) and store.is_complete() then
    -- Without a certificate OpenSSL ends the handshake with the alert handshake_failure.
    ssl.clear_certs()
    return
  end
  local revision = store.revision()
  local address = address_of(name, revision)
  if not address then
    return
  end
  local pair = usable(address)
  if not pair then
    address = tls.shown("_", revision)
    pair = address and usable(address)
  end
  if not pair then
    return
  end
  ssl.clear_certs()
  local ok, err = keypair.set(pair)
  if not ok then
    ngx.log(ngx.ERR, "certificate ", address, ": ", err)
    return
  end
  staple.set(address, pair, revision)
end

return M
