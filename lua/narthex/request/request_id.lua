--- Ids for requests that bring none: 32 hexadecimal digits.
--
-- NGINX's own `$request_id` asks OpenSSL for 16 random bytes, which costs a sixth of a proxied request. Here an id is the keyed digest of
-- a number, under a key that every worker takes from the kernel once: all of its bits differ from those of the one before, and who knows
-- some ids can't tell others.
-- @module narthex.request.request_id

local ffi = require("ffi")
local raw = require("narthex.request.raw")
-- Declares the function.
require("resty.core.hash")

local C = ffi.C

local DIGITS = 32

local M = {}

local seed = ffi.new("struct { unsigned char key[24]; double made; }")
local id = ffi.new("unsigned char[?]", DIGITS)

--- Takes the key of this worker. Phase: init_worker.
-- @tparam string secret random bytes, 24 of which count
function M.seed(secret)
  ffi.copy(seed.key, secret, math.min(#secret, ffi.sizeof(seed.key)))
end

local function make()
  seed.made = seed.made + 1
  C.ngx_http_lua_ffi_md5(ffi.cast("const unsigned char *", seed), ffi.sizeof(seed), id)
end

--- The next id. Phase: any.
-- @treturn string
function M.next()
  make()
  return ffi.string(id, DIGITS)
end

--- Sets `$narthex_request_id` to the next id. Phase: any with a request.
function M.assign()
  make()
  raw.set("narthex_request_id", id, DIGITS)
end

return M
