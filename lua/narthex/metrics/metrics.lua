--- Phase entry: what each request is counted as, with the labels of its route.
--
-- A worker adds up in plain tables, hangs them on the routes that they belong to, and hands what was added to the controller once a
-- second (`narthex.metrics.queue`). Nothing is sampled or dropped, however many requests there are.
-- @module narthex.metrics.metrics

local ngx = ngx
local base = require("resty.core.base")
local ffi = require("ffi")
local queue = require("narthex.metrics.queue")
local series = require("narthex.metrics.series")

local cast = ffi.cast
local floor = math.floor
local get_method = ngx.req.get_method
local get_request = base.get_request
local gsub = string.gsub
local match = string.match
local max = math.max
local now = ngx.now
local start_time = ngx.req.start_time
local tonumber = tonumber

--- `on`: whether requests are counted.
local M = { on = false }

--- Seconds between two flushes.
local INTERVAL = 1
--- Series in one batch: encoding them holds the worker for about a millisecond.
local BATCH = 100
--- Names of hosts that clients made up and that are distinguished between two flushes; the rest has the label of the rule's host.
local MOST_NAMES = 1000

--- The label of rules without a host, and of requests without one.
local NO_HOST = "_"
--- The label of methods that are none of HTTP's and WebDAV's: anybody can make them up.
local OTHER = "OTHER"
local METHODS = {}
for name in ("GET HEAD POST PUT DELETE MKCOL COPY MOVE OPTIONS PROPFIND PROPPATCH LOCK UNLOCK PATCH TRACE CONNECT"):gmatch("%u+") do
  METHODS[name] = name
end

local Pointer = ffi.typeof("uintptr_t")

--- What happens to hosts that no Ingress has: `skip`, `count` them under no name, or `name` them, which then applies to every host.
local unknown
--- Routes and canaries of the requests that are under way, by the address of the request: unlike `ngx.ctx` it outlives the change of
-- location, and costs no variable.
local begun, canaries = {}, {}
--- Series with something to hand over, and those of hosts that clients name: route -> host -> tree.
local dirty, clients, names = {}, {}, 0
--- Milliseconds of texts such as `0.001`.
local times, known_times = {}, 0
local MOST_TIMES = 4096
--- Whether this worker is about to end: then nothing waits for the timer, which is gone.
local leaving = false

--- Takes the global settings. Phase: init.
-- @tparam table config from `narthex.config`
function M.setup(config)
  local settings = config.metrics
  M.on = settings and true or false
  if settings then
    unknown = settings.unknown
    series.setup(settings)
  end
end

--- Not a tail call, which LuaJIT would not compile on its own.
local function address()
  local id = tonumber(cast(Pointer, get_request()))
  return id
end

--- Begins to count a request. Phase: rewrite.
-- @tparam table route
-- @tparam string name of the host that the client asks for
function M.begin(route, name)
  local counted = route.host or unknown ~= "skip" or name == NO_HOST
  if counted and not ngx.is_subrequest then
    local id = address()
    begun[id], canaries[id] = route, nil
  end
end

--- Says that a canary serves the request. Phase: rewrite, after `begin`.
-- @tparam string name of its backend
function M.canary(name)
  local id = address()
  if begun[id] then
    canaries[id] = name
  end
end

local function child(tree, key)
  local found = tree[key]
  if not found then
    found = {}
    tree[key] = found
  end
  return found
end

--- The series of a route under the name that the client gave the host, and that name; without one when there are too many.
local function of_client(route, name)
  local trees = child(clients, route)
  local tree = trees[name]
  if not tree then
    if names >= MOST_NAMES then
      return nil
    end
    names = names + 1
    tree = {}
    trees[name] = tree
  end
  return tree
end

--- The series of a request.
local function find(route, canary, var)
  local tree, host = route.series, nil
  if unknown == "name" then
    local name = var.host
    if name ~= route.host and name ~= NO_HOST then
      tree = of_client(route, name)
      host = tree and name
    end
    tree = tree or route.series
  end
  if not tree then
    tree = {}
    route.series = tree
  end
  if canary then
    tree = child(tree, canary)
  end
  -- Statuses are numbers and canaries are names: they share a table.
  local status = ngx.status
  tree = child(tree, status)
  local method = METHODS[get_method()] or OTHER
  local found = tree[method]
  if not found then
    -- Headers need not be UTF-8, JSON is.
    local label = host and gsub(host, "[\128-\255]", "?") or route.host or NO_HOST
    found = series.new(route, label, host ~= nil, method, status, canary or "")
    tree[method] = found
  end
  return found
end

--- Milliseconds of the last try in a list such as `0.001, 0.002 : 0.003`; false where that has none. Few texts occur again and again, and
-- to look one up costs a fraction of reading it.
local function read_time(text)
  local seconds = tonumber(text) or tonumber(match(text, "([%d.]+)$"))
  local milliseconds = seconds and floor(seconds * 1000 + 0.5) or false
  if known_times >= MOST_TIMES then
    times, known_times = {}, 0
  end
  times[text], known_times = milliseconds, known_times + 1
  return milliseconds
end

local function last_time(text)
  local milliseconds = times[text]
  if milliseconds == nil then
    return read_time(text)
  end
  return milliseconds
end

--- Counts a request that has ended. Phase: log.
-- @tparam table var `ngx.var`
-- @treturn ?table the series that it is counted in, until the next flush; nil if it is in none, or was handed over
-- @treturn ?number its milliseconds
function M.finish(var)
  local id = address()
  local route = begun[id]
  if not route then
    return
  end
  begun[id] = nil
  local canary = canaries[id]
  if canary then
    canaries[id] = nil
  end
  local found = find(route, canary, var)
  if series.count(found) then
    dirty[#dirty + 1] = found
  end
  local milliseconds = max(floor((now() - start_time()) * 1000 + 0.5), 0)
  series.request(found, milliseconds, tonumber(var.request_length), tonumber(var.bytes_sent))
  local response = var.upstream_response_time
  if response then
    series.upstream(found, last_time(var.upstream_connect_time), last_time(var.upstream_header_time), last_time(response))
  end
  if leaving then
    M.flush(false)
    return nil
  end
  return found, milliseconds
end

--- Hands over one batch. Returns how many series it has left to hand over.
local function hand_over(list, left, must)
  local from = left > BATCH and left - BATCH or 0
  local lines = {}
  for i = from + 1, left do
    lines[#lines + 1] = series.encode(list[i])
  end
  local ok, err = queue.push(series.head(lines), must)
  if not ok then
    return nil, err
  end
  for i = from + 1, left do
    series.reset(list[i])
  end
  return from
end

--- Hands everything over that was counted. What finds no room stays, and is handed over with what comes.
-- Phase: any with `ngx.shared`.
-- @tparam boolean may_pause whether others may have their turn between batches: only in a timer
-- @treturn ?string why something stays
function M.flush(may_pause)
  local list, left = dirty, #dirty
  dirty = {}
  while left > 0 do
    local rest, err = hand_over(list, left, leaving)
    if not rest then
      for i = 1, left do
        dirty[#dirty + 1] = list[i]
      end
      return err
    end
    left = rest
    if may_pause and left > 0 then
      -- Not 0: without a patch that distributions leave out, each such call is a warning in the log.
      ngx.sleep(0.001)
    end
  end
  clients, names = {}, 0
end

local function tick(premature)
  leaving = leaving or premature
  M.flush(not premature)
end

--- Begins to hand over. Phase: init_worker.
function M.start()
  if not M.on then
    return
  end
  local ok, err = ngx.timer.every(INTERVAL, tick)
  if not ok then
    ngx.log(ngx.ERR, "request metrics: no timer: ", err, ", they are handed over when this worker ends")
  end
end

--- Hands over what is left at the end of a worker. Phase: exit_worker.
function M.leave()
  if not M.on then
    return
  end
  leaving = true
  local err = M.flush(false)
  if err then
    ngx.log(ngx.ERR, "request metrics: ", series.total(dirty), " requests are not counted: ", err)
  end
end

return M
