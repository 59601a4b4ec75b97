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
