--- Counts of connections, over all workers; those of a worker that was killed are forgotten.
--
-- Beside each count stands what this worker has of it, under the worker's identity. Workers are listed in slots. Who is about to refuse
-- looks, at most once a second, whether all of them live, and takes back what the dead ones had. A worker's own number is raised before
-- the count and lowered after it: whenever it is killed, no count stays too high, and one that is too low ends when the client has no
-- connection for a while.
-- @module narthex.limits.connections

local ngx = ngx
local dictionaries = require("narthex.state.dictionaries")
local ffi = require("ffi")
local owned = require("narthex.state.owned")

local match = string.match
local sub = string.sub
local tonumber = tonumber

local M = {}

local counts = dictionaries.get("limit_conn")
--- The counts of workers of before, where the size of the dictionary has changed since: they end by themselves.
local former = dictionaries.former("limit_conn")
--- A count in use is not to be lost: where a namespace has used up its share its own clients are refused.
local owned_counts = owned.new(counts, function(count) return count <= 0 end)

--- How long a count of 0 is kept, how often workers are looked after, and how long one may take to take back another's, in seconds.
local LINGER, PAUSE, LOCK = 10, 1, 10
--- No client's key begins like these.
local OWN, SLOT, SWEEP, LOOKED = "\1", "\2", "\3", "\4"
--- "No such process".
local ESRCH = 3

local identity

ffi.cdef("int kill(int pid, int sig);")

--- Whether a worker lives, by its identity. A pid that is ours now was another's before.
local function is_alive(other)
  if other == identity then
    return true
  end
  local pid = tonumber(match(other, "^%d+"))
  return pid ~= ngx.worker.pid() and (ffi.C.kill(pid, 0) == 0 or ffi.errno() ~= ESRCH)
end

--- One more, without pushing out another count.
local function increment(owner, key)
  local count, err = counts:incr(key, 1)
  if count then
    return count
  end
  if err == "not found" then
    local ok
    ok, err = owned_counts:add(owner, key, 1)
    if ok then
      return 1
    elseif err == "exists" then
      return counts:incr(key, 1)
    end
  end
  return nil, err
end

--- Fewer. A count that stays at 0 expires; a request that counts meanwhile makes it stay, and the second look makes up for an expiry
-- that was set just after that.
local function decrement(key, by)
  local count = counts:incr(key, -by)
  if count and count <= 0 then
    counts:expire(key, LINGER)
    count = counts:get(key)
    if count and count > 0 then
      counts:expire(key, 0)
    end
  end
end

--- Takes back what a dead worker had.
local function sweep(dead)
  if not counts:add(SWEEP .. dead, true, LOCK) then
    return
  end
  local prefix = OWN .. dead .. " "
  for _, key in ipairs(counts:get_keys(0)) do
    if sub(key, 1, #prefix) == prefix then
      local had = counts:get(key)
      counts:delete(key)
      if had and had > 0 then
        decrement(sub(key, #prefix + 1), had)
      end
    end
  end
end

--- Looks after the listed workers. Whether one was dead.
local function look()
  local found = false
  for at = 1, counts:get(SLOT) or 0 do
    local other = counts:get(SLOT .. at)
    if other and not is_alive(other) then
      ngx.log(ngx.NOTICE, "worker ", match(other, "^%d+"), " is gone, its connections are counted no more")
      sweep(other)
      counts:delete(SLOT .. at)
      found = true
    end
  end
  return found
end

--- Lists this worker in the first free slot.
local function enlist()
  identity = ngx.worker.pid() .. "." .. ngx.now() * 1000
  look()
  local at = 0
  repeat
    at = at + 1
    local ok, err = counts:safe_add(SLOT .. at, identity)
    if not ok and err ~= "exists" then
      identity = nil
      return nil, err
    end
  until ok
  if at > (counts:get(SLOT) or 0) then
    counts:set(SLOT, at)
  end
  return true
end

local function add(owner, key)
  local ok, err = increment(owner, OWN .. identity .. " " .. key)
  if not ok then
    return nil, err
  end
  local count
  count, err = increment(owner, key)
  if not count then
    counts:incr(OWN .. identity .. " " .. key, -1)
  elseif count == 1 then
    counts:expire(key, 0)
  end
  return count, err
end

--- Connections that workers of before have of a client.
local function before(key)
  return former and former:get(key) or 0
end

--- Counts a connection, if there is room for it.
-- Phase: rewrite.
-- @tparam string owner the namespace whose limit it is
-- @tparam string key of the client
-- @tparam number most connections that it may have
-- @treturn boolean whether there was room; then `release` must follow
-- @treturn ?string why it could not be counted
function M.take(owner, key, most)
  if not identity then
    local ok, err = enlist()
    if not ok then
      return false, err
    end
  end
  local count, err = add(owner, key)
  if not count then
    return false, err
  end
  local others = before(key)
  if count + others > most and counts:add(LOOKED, true, PAUSE) and look() then
    count = counts:get(key) or most
  end
  if count + others > most then
    M.release(key)
    return false
  end
  return true
end

--- Ends a connection that `take` counted. Phase: any.
-- @tparam string key
function M.release(key)
  decrement(key, 1)
  local own = OWN .. identity .. " " .. key
  local left = counts:incr(own, -1)
  if left and left <= 0 then
    counts:delete(own)
  end
end

return M
