--- Hashed passwords: the schemes of NGINX's password files, and those of the C library (bcrypt, `$1$`, `$5$`, `$6$`, DES).
--
-- A hash is slow by design, so what was found out is remembered by each worker, under a keyed digest of the password, and what is not known
-- yet costs its namespace (`narthex.auth.password_shares`). How slow it may be the controller decides: hashes of other costs are no
-- records.
-- @module narthex.auth.password

local ngx = ngx
local bit = require("bit")
local ffi = require("ffi")
local shares = require("narthex.auth.password_shares")

local byte = string.byte
local clock = os.clock
local decode_base64 = ngx.decode_base64
local encode_base64 = ngx.encode_base64
local find = string.find
local match = string.match
local md5_bin = ngx.md5_bin
local rep = string.rep
local sha1_bin = ngx.sha1_bin
local sub = string.sub
local update_time = ngx.update_time

ffi.cdef("char *crypt_r(const char *phrase, const char *setting, void *data);")

--- Room for the state of the C library's function, in any of its versions.
local STATE_BYTES = 160 * 1024
--- What the C library takes at most: a longer one only costs time.
local LONGEST_BYTES = 512
local APR1 = "$apr1$"
local ITOA64 = "./0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"

local M = {}

local key = ""
local state

--- Takes the secret under which this worker remembers passwords. Phase: init_worker.
-- @tparam string secret random bytes
function M.seed(secret)
  key = secret
end

local function crypt(password, hash)
  -- A password with a NUL would be cut there.
  if find(password, "\0", 1, true) then
    return nil
  end
  state = state or ffi.new("char[?]", STATE_BYTES)
  ffi.fill(state, STATE_BYTES)
  local out = ffi.C.crypt_r(password, hash, state)
  return out ~= nil and ffi.string(out) or nil
end

--- Three bytes as four digits, least significant first.
local function to64(out, a, b, c, digits)
  local value = bit.bor(bit.lshift(a, 16), bit.lshift(b, 8), c)
  for _ = 1, digits do
    local at = bit.band(value, 63) + 1
    out[#out + 1] = sub(ITOA64, at, at)
    value = bit.rshift(value, 6)
  end
end

--- Apache's variant of the MD5 scheme.
local function apr1(password, hash)
  local salt = match(hash, "^%$apr1%$([^$]*)")
  salt = sub(salt, 1, 8)
  local final = md5_bin(password .. salt .. password)
  local length, text = #password, password .. APR1 .. salt .. sub(rep(final, #password / 16 + 1), 1, #password)
  while length > 0 do
    text = text .. (bit.band(length, 1) == 1 and "\0" or sub(password, 1, 1))
    length = bit.rshift(length, 1)
  end
  final = md5_bin(text)
  for i = 0, 999 do
    local odd = i % 2 == 1
    local seasoning = (i % 3 ~= 0 and salt or "") .. (i % 7 ~= 0 and password or "")
    final = md5_bin((odd and password or final) .. seasoning .. (odd and final or password))
  end
  local b, out = { byte(final, 1, 16) }, {}
  for i = 1, 4 do
    to64(out, b[i], b[i + 6], b[i + 12], 4)
  end
  to64(out, b[5], b[11], b[6], 4)
  to64(out, 0, 0, b[12], 2)
  return APR1 .. salt .. "$" .. table.concat(out)
end

local function is_salted_sha1(password, hash)
  local bytes = decode_base64(sub(hash, 7))
  return bytes ~= nil and #bytes >= 20 and sha1_bin(password .. sub(bytes, 21)) == sub(bytes, 1, 20)
end

local function check(password, hash)
  if sub(hash, 1, #APR1) == APR1 then
    return apr1(password, hash) == hash
  end
  return crypt(password, hash) == hash
end

--- The schemes that cost nothing: there is nothing to remember.
local function check_at_once(password, hash)
  if sub(hash, 1, 6) == "{SSHA}" then
    return is_salted_sha1(password, hash)
  elseif sub(hash, 1, 5) == "{SHA}" then
    return encode_base64(sha1_bin(password)) == sub(hash, 6)
  end
  return sub(hash, 1, 7) == "{PLAIN}" and password == sub(hash, 8)
end

--- Whether a password belongs to a hash. Holds the worker for as long as the hash takes, the first time. Phase: any.
-- @tparam string namespace that pays for it
-- @tparam string password
-- @tparam string hash
-- @treturn ?boolean nil: the namespace has used up its share, the client may ask again
function M.matches(namespace, password, hash)
  if hash == "" or byte(hash) == byte("*") or #password > LONGEST_BYTES then
    return false
  elseif byte(hash) == byte("{") then
    return check_at_once(password, hash)
  end
  local share = shares.of(namespace)
  local mark = ngx.hmac_sha1(key, #hash .. ":" .. hash .. password)
  local verdict = shares.verdict(share, mark)
  if verdict ~= nil then
    return verdict
  elseif not shares.may_check(share) then
    return nil
  end
  -- Of the processor: on a busy machine a check takes longer, and costs no more.
  local began = clock()
  local ok, is_right = pcall(check, password, hash)
  shares.pay(share, clock() - began)
  -- Timers of this worker are late by the time of the check.
  update_time()
  if not ok then
    ngx.log(ngx.ERR, "a hashed password can't be checked: ", is_right, ", no client is let in with it")
    return false
  end
  shares.remember(share, mark, is_right)
  return is_right
end

return M
