--- Phase entry: feedback to the balancer (`log_by_lua`).
-- @module narthex.metrics.log

local ngx = ngx
local backend = require("narthex.balance.backend")
local context = require("narthex.request.context")
local ewma = require("narthex.balance.ewma")
local json_log = require("narthex.metrics.json_log")
local limits = require("narthex.limits.limits")
local metrics = require("narthex.metrics.metrics")
local reason = require("narthex.request.reason")
local series = require("narthex.metrics.series")
local server_name = require("narthex.route.server_name")
local store = require("narthex.state.store")
local tap = require("narthex.metrics.tap")
local tracing = require("narthex.metrics.tracing")

local floor = math.floor
local match = string.match
local tonumber = tonumber

local M = {}

--- The last number in a list such as `0.001, 0.002`; 0 if the last element is none.
local function last_number(list)
  return tonumber(list and match(list, "([%d.]+)$")) or 0
end

local function feed(var)
  local addresses = var.upstream_addr
  local key = var.narthex_backend
  if not addresses or not key then
    return
  end
  local record = backend.get(key ~= "" and key or backend.DEFAULT, store.revision())
  local balancer = record and record.balancer
  if balancer and balancer.algorithm == ewma then
    local id = match(addresses, "([^ ,]+)$")
    if id then
      balancer:feed(id, last_number(var.upstream_connect_time) + last_number(var.upstream_response_time))
    end
  end
end

--- Ends the state of a request that had limits or a span. `counted`, `milliseconds`: what `metrics.finish` gave.
local function leave(var, state, counted, milliseconds)
  limits.leave(state)
  local span = tracing.finish(var, state)
  if span and counted then
    series.exemplar(counted, milliseconds, span, floor(ngx.now() * 1000))
  end
end

--- Completes what the access log reads.
local function complete(var)
  if not ngx.is_subrequest then
    reason.complete(var)
  end
  if json_log.in_use then
    json_log.fill(var)
  end
end

--- Counts the request, feeds the response time to EWMA balancers, counts the end of limited requests, records spans, completes what the
-- access log reads, shows the request to readers, and ends its state. Costs eight tests while nothing uses any of it. Phase: log.
function M.log()
  local var = ngx.var
  local counted, milliseconds
  if metrics.on then
    counted, milliseconds = metrics.finish(var)
  end
  if server_name.in_use then
    server_name.fill(var)
  end
  if ewma.in_use and not ngx.is_subrequest then
    feed(var)
  end
  if (limits.in_use or tracing.in_use) and not ngx.is_subrequest then
    local state = context.get(var)
    if state then
      leave(var, state, counted, milliseconds)
    end
  end
  if reason.is_read then
    complete(var)
  end
  if tap.in_use and not ngx.is_subrequest then
    tap.write(var)
  end
  context.close(var)
end

return M
