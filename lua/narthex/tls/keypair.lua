--- A certificate record, parsed and proven to be a pair before any connection depends on it.
-- @module narthex.tls.keypair

local ffi = require("ffi")
local record = require("narthex.state.record")
local ssl = require("ngx.ssl")
local wire = require("narthex.state.wire")

ffi.cdef([[
  void *OPENSSL_sk_value(const void *stack, int i);
  int X509_check_private_key(const void *certificate, const void *key);
  void ERR_clear_error(void);
]])

local C = ffi.C

local M = {}

--- Parses a record.
-- Phase: any.
-- @tparam string text of the record
-- @treturn table|nil `{chain, key}`, as `ngx.ssl` takes them
-- @treturn nil|string what is wrong; never the key itself
function M.parse(text)
  local given = record.decode(wire.KeyPair, text)
  if not given then
    return nil, "no certificate and key"
  end
  local chain, chain_err = ssl.parse_pem_cert(given.cert)
  if not chain then
    return nil, "certificate: " .. chain_err
  end
  local key, key_err = ssl.parse_pem_priv_key(given.key)
  if not key then
    return nil, "key: " .. key_err
  end
  if C.X509_check_private_key(C.OPENSSL_sk_value(chain, 0), key) ~= 1 then
    C.ERR_clear_error()
    return nil, "the key does not belong to the certificate"
  end
  return { chain = chain, key = key }
end

return M
