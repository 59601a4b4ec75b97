--- Ids for requests that bring none: 32 hexadecimal digits.
--
-- NGINX's own `$request_id` asks OpenSSL for 16 random bytes, which costs a sixth of a proxied request. Here an id is the keyed digest of
-- a number, under a key that every worker takes from the kernel once: all of its bits differ from those of the one before, and who knows
-- some ids can't tell others.
-- @module narthex.request_id

local ngx = ngx

local md5 = ngx.md5

local M = {}

local key, made = "", 0

--- Takes the key of this worker. Phase: init_worker.
-- @tparam string secret random bytes
function M.seed(secret)
  key = secret
end

--- The next id. Phase: any.
-- @treturn string
function M.next()
  made = made + 1
  return md5(key .. made)
end

return M
