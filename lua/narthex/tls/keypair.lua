--- A certificate record, parsed and proven to be a pair before any connection depends on it.
-- @module narthex.tls.keypair

local ffi = require("ffi")
local record = require("narthex.state.record")
local ssl = require("ngx.ssl")
local wire = require("narthex.state.wire")

ffi.cdef([[
  void *OPENSSL_sk_value(const void *stack, int i);
  int OPENSSL_sk_num(const void *stack);
  int X509_check_private_key(const void *certificate, const void *key);
  void ERR_clear_error(void);
]])

local C = ffi.C

--- Of a certificate and of a key of the usual kinds, in OpenSSL 3.
local CERTIFICATE_BYTES, KEY_BYTES = 4.75 * 1024, 2.25 * 1024

local M = {}

--- One pair of texts, as `ngx.ssl` takes them.
local function parse(cert, key_text)
  local chain, chain_err = ssl.parse_pem_cert(cert)
  if not chain then
    return nil, "certificate: " .. chain_err
  end
  local key, key_err = ssl.parse_pem_priv_key(key_text)
  if not key then
    return nil, "key: " .. key_err
  end
  if C.X509_check_private_key(C.OPENSSL_sk_value(chain, 0), key) ~= 1 then
    C.ERR_clear_error()
    return nil, "the key does not belong to the certificate"
  end
  return { chain = chain, key = key }
end

--- Frees a pair that no connection is being given. Connections that have it keep what they need of it. Phase: any.
-- @tparam table pair that nothing uses any more
function M.free(pair)
  C.ngx_http_lua_ffi_free_cert(ffi.gc(pair.chain, nil))
  C.ngx_http_lua_ffi_free_priv_key(ffi.gc(pair.key, nil))
  if pair.other then
    M.free(pair.other)
  end
end

--- Bytes that OpenSSL has for a pair, about. Phase: any.
-- @tparam table pair
-- @treturn number
function M.bytes(pair)
  local own = CERTIFICATE_BYTES * C.OPENSSL_sk_num(pair.chain) + KEY_BYTES
  return pair.other and own + M.bytes(pair.other) or own
end

--- Parses a record.
-- Phase: any.
-- @tparam string text of the record
-- @treturn table|nil `{chain, key, other}`, as `ngx.ssl` takes them; `other`: nil or another pair
-- @treturn nil|string what is wrong; never the key itself
function M.parse(text)
  local given = record.decode(wire.KeyPair, text)
  if not given then
    return nil, "no certificate and key"
  end
  local pair, err = parse(given.cert, given.key)
  if pair and given.other then
    pair.other, err = parse(given.other[1], given.other[2])
    if not pair.other then
      return nil, err
    end
  end
  return pair, err
end

--- Gives a pair to the connection. Phase: ssl_cert.
-- @tparam table pair
-- @treturn ?boolean
-- @treturn nil|string what OpenSSL says
function M.set(pair)
  local ok, err = ssl.set_cert(pair.chain)
  if ok then
    ok, err = ssl.set_priv_key(pair.key)
  end
  if ok and pair.other then
    return M.set(pair.other)
  end
  return ok, err
end

return M
