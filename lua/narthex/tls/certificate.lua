--- Phase entry: the certificate of a handshake (`ssl_certificate_by_lua`).
--
-- Name from the client, else its first-label wildcard, else `_`. Parsed pairs are kept by content address, so a renewed
-- certificate is another entry. A record that can't be used is logged once and the server's static certificate answers.
-- @module narthex.tls.certificate

local ngx = ngx
local keypair = require("narthex.tls.keypair")
local lrucache = require("resty.lrucache")
local ssl = require("ngx.ssl")
local tables = require("narthex.state.tables")
local tls = require("narthex.tls.hosts")

local byte = string.byte
local lower = string.lower
local sub = string.sub

local LIMIT = 2048
local DOT = byte(".")

local M = {}

local records, PREFIX = tables.BY_NAME.certificate.dict, tables.BY_NAME.certificate.prefix
local pairs_by_address = assert(lrucache.new(LIMIT))

--- Content address for a name that a client sent, or nil.
local function address_of(name)
  if name then
    name = lower(name)
    if byte(name, -1) == DOT then
      name = sub(name, 1, -2)
    end
    local address = tls.find(name)
    if address and address ~= tls.NONE then
      return address
    end
  end
  return tls.entry("_")
end

--- Parses a record, and tries on this connection what could be refused, while the static certificate is still there.
local function load(address)
  local text = records:get(PREFIX .. address)
  if not text then
    -- Not remembered: it may be on its way.
    ngx.log(ngx.ERR, "certificate ", address, ": no such record, the static one is used")
    return nil
  end
  local pair, err = keypair.parse(text)
  if pair then
    local ok
    ok, err = ssl.set_cert(pair.chain)
    if not ok then
      pair = nil
    end
  end
  if not pair then
    ngx.log(ngx.ERR, "certificate ", address, ": ", err, ", the static one is used")
  end
  pairs_by_address:set(address, pair or false)
  return pair
end

--- Sets the certificate for the name that the client asks for. Phase: ssl_cert.
function M.select()
  local address = address_of(ssl.server_name())
  if not address then
    return
  end
  local pair = pairs_by_address:get(address)
  if pair == nil then
    pair = load(address)
  end
  if not pair then
    return
  end
  ssl.clear_certs()
  local ok, err = ssl.set_cert(pair.chain)
  if ok then
    ok, err = ssl.set_priv_key(pair.key)
  end
  if not ok then
    ngx.log(ngx.ERR, "certificate ", address, ": ", err)
  end
end

return M
