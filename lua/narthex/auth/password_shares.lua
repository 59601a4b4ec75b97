--- What a namespace's passwords may cost a worker, and what was found out about them.
--
-- A hash is slow by design and holds the worker, while the requests of all tenants wait. So what was checked is remembered for a short
-- time, and what is checked for the first time counts against the namespace: a quarter of a worker's time, and at most a second of it at
-- once. Each namespace has its own share and its own memory: no other one's clients use them up.
-- @module narthex.auth.password_shares

local ngx = ngx
local lrucache = require("resty.lrucache")

local min = math.min
local now = ngx.now

local NAMESPACES, RIGHT, WRONG = 1024, 1024, 128
--- How long a verdict is remembered, in seconds.
local RIGHT_SECONDS, WRONG_SECONDS = 300, 10
--- Seconds of hashing in a second, and at once.
local SHARE, BURST = 0.25, 1

local M = {}

local shares = assert(lrucache.new(NAMESPACES))

--- The share of a namespace. Phase: any.
-- @tparam string namespace
-- @treturn table
function M.of(namespace)
  local share = shares:get(namespace)
  if not share then
    share = { right = assert(lrucache.new(RIGHT)), wrong = assert(lrucache.new(WRONG)), credit = BURST, time = now() }
    shares:set(namespace, share)
  end
  return share
end

--- What is known of a password. Phase: any.
-- @tparam table share
-- @tparam string mark of the password and the hash
-- @treturn ?boolean
function M.verdict(share, mark)
  if share.right:get(mark) then
    return true
  elseif share.wrong:get(mark) then
    return false
  end
end

--- Remembers whether a password is right. Phase: any.
function M.remember(share, mark, is_right)
  if is_right then
    share.right:set(mark, true, RIGHT_SECONDS)
  else
    -- Apart: guesses push out no right one.
    share.wrong:set(mark, true, WRONG_SECONDS)
  end
end

--- Whether the namespace may have one more password checked now. Phase: any.
function M.may_check(share)
  local time = now()
  -- A clock that was set back gives nothing and takes nothing.
  local passed = time - share.time
  share.time = time
  if passed > 0 then
    share.credit = min(share.credit + passed * SHARE, BURST)
  end
  return share.credit > 0
end

--- Takes off what a check has cost. Phase: any.
-- @tparam table share
-- @tparam number seconds for which it held the worker
function M.pay(share, seconds)
  share.credit = share.credit - seconds
end

return M
