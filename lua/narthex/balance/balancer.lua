--- Phase entry: chooses the peer of a try (`balancer_by_lua`).
-- Nothing is kept per request: what was tried is read from `$upstream_addr` when a retry happens.
-- @module narthex.balance.balancer

local ngx = ngx
local affinity = require("narthex.balance.affinity")
local backend = require("narthex.balance.backend")
local context = require("narthex.request.context")
local ngx_balancer = require("ngx.balancer")
local peers = require("narthex.balance.peers")
local reason = require("narthex.request.reason")
local store = require("narthex.state.store")

local match = string.match
local tonumber = tonumber
local get_last_failure = ngx_balancer.get_last_failure
local set_current_peer = ngx_balancer.set_current_peer
local set_more_tries = ngx_balancer.set_more_tries
local set_timeouts = ngx_balancer.set_timeouts

local M = {}

local tries = 3
--- Whether this worker has met a route with timeouts or tries of its own; until then the variable need not be read.
local timeouts_in_use = false

--- Takes the global settings. Phase: init.
-- @tparam table config from `narthex.config`
function M.setup(config)
  tries = config.proxy_next_upstream_tries
end

--- Says that some route sets `$narthex_timeouts`. Phase: any, before the first such request is balanced.
function M.use_timeouts()
  timeouts_in_use = true
end

local function positive(text)
  local number = tonumber(text)
  return number and number > 0 and number or nil
end

--- Applies the route's own timeouts. Returns its own number of tries, if it has one.
local function own_limits(limits)
  local connect, send, read, own_tries = match(limits, "^(%d*),(%d*),(%d*),(%d*)$")
  if connect ~= "" or send ~= "" or read ~= "" then
    local _, err = set_timeouts(positive(connect), positive(send), positive(read))
    if err then
      ngx.log(ngx.ERR, "timeouts ", limits, ": ", err)
    end
  end
  return tonumber(own_tries)
end

local function first_try(var, size)
  local limits = timeouts_in_use and var.narthex_timeouts
  local limit = limits and limits ~= "" and own_limits(limits) or tries
  -- 0 tries: no limit, which NGINX takes as every peer once.
  local more = (limit > 0 and limit or size) - 1
  if more > 0 then
    set_more_tries(more)
  end
end

--- The peer of this try: where a cookie leads, else what the balancer says.
local function choose(var, key, record, tried)
  local state = context.get(var)
  local choice = state and state.affinity
  -- An answer instead of the backend's, such as an error page, is not where the cookie leads.
  if choice and choice.backend == key then
    return affinity.pick(choice, record, tried)
  end
  return record.balancer:pick(tried, var, state and state.captures)
end

--- Sets the peer of this try. Phase: balancer.
function M.balance()
  local var = ngx.var
  local key = var.narthex_backend
  local record = backend.get(key ~= "" and key or backend.DEFAULT, store.revision())
  local balancer = record and record.balancer
  if not balancer then
    ngx.log(ngx.WARN, "backend ", key, ": lost its last endpoint")
    reason.set(var, reason.WORDS.NO_ENDPOINTS)
    return ngx.exit(ngx.HTTP_SERVICE_UNAVAILABLE)
  end
  local tried
  if get_last_failure() then
    tried = peers.tried(var.upstream_addr)
  else
    first_try(var, balancer.size)
  end
  local peer, score = choose(var, key, record, tried)
  if score then
    var.balancer_ewma_score = score
  end
  local ok, err = set_current_peer(peer.host, peer.port)
  if not ok then
    ngx.log(ngx.ERR, "backend ", key, ": peer ", peer.id, ": ", err)
    return ngx.exit(ngx.HTTP_BAD_GATEWAY)
  end
end

return M
