--- Ids for requests that bring none: 32 hexadecimal digits.
--
-- NGINX's own `$request_id` asks OpenSSL for 16 random bytes, which costs a sixth of a proxied request. An id only has to be
-- unique: here it comes from a generator (xorshift128) that every worker seeds once from the kernel.
-- @module narthex.request_id

local bit = require("bit")

local bxor = bit.bxor
local lshift = bit.lshift
local rshift = bit.rshift
local tohex = bit.tohex

local M = {}

local a, b, c, d = 1, 2, 3, 4

local function seed_of(text, at)
  local w, x, y, z = text:byte(at, at + 3)
  return bit.bor(lshift(w, 24), lshift(x, 16), lshift(y, 8), z)
end

--- Seeds the generator. Phase: init_worker.
-- @tparam string bytes 16 random ones
function M.seed(bytes)
  a, b, c, d = seed_of(bytes, 1), seed_of(bytes, 5), seed_of(bytes, 9), seed_of(bytes, 13)
  if a == 0 and b == 0 and c == 0 and d == 0 then
    -- The one state that the generator never leaves.
    d = 1
  end
end

--- The next id. Phase: any.
-- @treturn string
function M.next()
  local t = bxor(a, lshift(a, 11))
  a, b, c = b, c, d
  d = bxor(bxor(d, rshift(d, 19)), bxor(t, rshift(t, 8)))
  return tohex(a) .. tohex(b) .. tohex(c) .. tohex(d)
end

return M
