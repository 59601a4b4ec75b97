--- Limits of requests and connections, per Ingress and client, over all workers.
--
-- Requests: the leaky bucket of `limit_req` with `nodelay`. A bucket is kept as the time at which it will be empty, so that one
-- number is all of its state and adding a request is one atomic increment: no request is counted twice or lost between workers.
-- A namespace has its share of the dictionary (`narthex.state.owned`); above that its own oldest buckets are forgotten.
-- A bucket whose time has passed by more than the room of one request is as good as none, and expires just then.
--
-- Connections: as `limit_conn` counts them, a request from here to its log phase; see `narthex.limits.connections`.
-- @module narthex.limits.limits

local ngx = ngx
local connections = require("narthex.limits.connections")
local context = require("narthex.request.context")
local dictionaries = require("narthex.state.dictionaries")
local expand = require("narthex.request.expand")
local networks = require("narthex.request.networks")
local owned = require("narthex.state.owned")
local reason = require("narthex.request.reason")

local match = string.match
local max = math.max
local now = ngx.now
local sha1_bin = ngx.sha1_bin

--- `in_use`: whether this worker has let a request in whose end must be counted.
local M = { in_use = false }

local requests = dictionaries.get("limit_req")
local buckets_of = owned.new(requests)
local workers = ngx.worker.count

local ADDRESS = "$binary_remote_addr"
--- Bytes of a key. Longer ones, which the settings may take from a header, would be the client's to choose.
local LONGEST_CLIENT = 64

local key_of_client, status_of_requests, status_of_connections

--- Takes the global settings. Phase: init.
-- @tparam table config from `narthex.config`
function M.setup(config)
  key_of_client = config.limit_conn_zone_variable ~= ADDRESS and expand.compile(config.limit_conn_zone_variable)
  status_of_requests, status_of_connections = config.limit_req_status_code, config.limit_conn_status_code
end

--- A rate of so many requests in `seconds`, of which `burst` times as many more may come at once.
local function bucket(kind, identity, rate, burst, seconds)
  local room = seconds * 1000 / rate
  return { prefix = kind .. identity .. " ", room = room, depth = room * rate * burst, owner = match(identity, "^[^/]*") }
end

--- Compiles the limits of a route.
-- Phase: any.
-- @tparam table given `limits` of the decoded policy
-- @tparam string identity of the Ingress: its locations share what is counted
-- @treturn table what `enter` takes
function M.compile(given, identity)
  local buckets, burst = {}, given.limit_burst_multiplier or 5
  if given.limit_rps then
    buckets[#buckets + 1] = bucket("s ", identity, given.limit_rps, burst, 1)
  end
  if given.limit_rpm then
    buckets[#buckets + 1] = bucket("m ", identity, given.limit_rpm, burst, 60)
  end
  return {
    allow = given.limit_allowlist and networks.compile(given.limit_allowlist),
    buckets = buckets,
    connections = given.limit_connections,
    prefix = identity .. " ",
    owner = match(identity, "^[^/]*"),
  }
end

--- Whether there is room for one more request, by what the bucket holds at this moment.
local function has_room(one, key, time)
  local empty_at = requests:get(key)
  if empty_at and empty_at - time > one.depth + one.room * workers() then
    -- More than it can hold with a request of each worker on its way: the clock was set back. The client would be refused for as long.
    requests:delete(key)
    return true
  end
  return not empty_at or empty_at + one.room - time <= one.depth
end

--- Counts a request. False if others came first and took the room.
local function add(one, key, time)
  local empty_at = requests:incr(key, one.room)
  if not empty_at then
    local ok, err = buckets_of:add(one.owner, key, time, one.room / 1000)
    if ok then
      return true
    end
    empty_at, err = requests:incr(key, one.room), err
    if not empty_at then
      ngx.log(ngx.ERR, "shared dictionary limit_req: ", err, ", a request of namespace ", one.owner, " is not counted")
      return true
    end
  end
  if empty_at - time > one.depth then
    requests:incr(key, -one.room)
    return false
  end
  requests:expire(key, max(empty_at + one.room - time, 1) / 1000)
  return true
end

--- First all buckets are looked at, then all are filled: a request that one of them refuses fills none.
local function admit(buckets, client)
  local time = now() * 1000
  for i = 1, #buckets do
    if not has_room(buckets[i], buckets[i].prefix .. client, time) then
      return false
    end
  end
  for i = 1, #buckets do
    if not add(buckets[i], buckets[i].prefix .. client, time) then
      for earlier = 1, i - 1 do
        requests:incr(buckets[earlier].prefix .. client, -buckets[earlier].room)
      end
      return false
    end
  end
  return true
end

local function connect(var, limits, client)
  local state = context.open(var)
  if state.connection then
    -- The same request, come here a second time.
    return true
  end
  local key = limits.prefix .. client
  local is_taken, err = connections.take(limits.owner, key, limits.connections)
  if not is_taken then
    if err then
      ngx.log(ngx.ERR, "shared dictionary limit_conn: ", err, ", the request is refused")
    end
    return false
  end
  state.connection, M.in_use = key, true
  return true
end

--- Counts a request, or says how to refuse it.
-- Phase: rewrite.
-- @tparam table var `ngx.var`
-- @tparam table limits from `compile`
-- @treturn ?number the status of a request that is too much
-- @treturn ?string which limit it is, of `narthex.request.reason`
function M.enter(var, limits)
  local address = var.binary_remote_addr
  if limits.allow and networks.contains(limits.allow, address) then
    return nil
  end
  local client = key_of_client and expand.eval(key_of_client, var) or address
  if client == "" then
    return nil
  elseif #client > LONGEST_CLIENT then
    client = sha1_bin(client)
  end
  if not admit(limits.buckets, client) then
    return status_of_requests, reason.WORDS.RATE_LIMIT
  end
  if limits.connections and not connect(var, limits, client) then
    return status_of_connections, reason.WORDS.CONNECTION_LIMIT
  end
end

--- The end of a request. Phase: log.
-- @tparam table state of the request, see `narthex.request.context`
function M.leave(state)
  if state.connection then
    connections.release(state.connection)
    state.connection = nil
  end
end

return M
