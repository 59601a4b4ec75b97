--- Backend records: name, and a balancer that outlives changes of the endpoints.
-- @module narthex.balance.backend

local ngx = ngx
local affinity = require("narthex.balance.affinity")
local canary = require("narthex.route.canary")
local chash = require("narthex.balance.chash")
local chash_subset = require("narthex.balance.chash_subset")
local peers_ = require("narthex.balance.peers")
local record_ = require("narthex.state.record")
local store = require("narthex.state.store")
local ewma = require("narthex.balance.ewma")
local round_robin = require("narthex.balance.round_robin")
local tables = require("narthex.state.tables")
local wire = require("narthex.state.wire")

local LIMIT = 16384

local ALGORITHMS = { round_robin = round_robin, ewma = ewma }

--- The algorithm of a record: hashing before `load_balance`.
local function algorithm_of(key, given)
  if given.hash then
    return given.hash.upstream_hash_by_subset_size and chash_subset or chash
  end
  local wanted = given.load_balance or "round_robin"
  local algorithm = ALGORITHMS[wanted]
  if not algorithm then
    ngx.log(ngx.WARN, "backend ", key, ": unknown algorithm ", tostring(wanted), ", round_robin is used")
  end
  return algorithm or round_robin
end

--- Key of the default backend. `name_of_default`: what logs call it while it has no record.
local M = { DEFAULT = "-", name_of_default = "upstream-default-backend" }

local function parse(key, text, previous)
  local given, err = record_.decode(wire.BackendRecord, text)
  if not given then
    return nil, err
  end
  local record = { name = given.name, balancer = false }
  record.affinity = affinity.compile(given.affinity)
  record.alternative = canary.compile(given.alternative)
  record.former_ring = previous and (previous.places and previous.places.ring or previous.former_ring)
  local peers = peers_.parse(given.endpoints)
  if #peers > 0 then
    record.balancer = algorithm_of(key, given).new(key, peers, previous and previous.balancer or nil, given.hash)
  end
  record.choice = record.affinity or record.alternative or record.balancer and record.balancer.needs_captures or false
  return record
end

local backends = store.new(tables.BY_NAME.backend, parse, LIMIT)

--- A backend: `{name, balancer, affinity, alternative, choice}`. `balancer` is false when there is no endpoint; `choice` is false
-- when every request is served by this backend and wherever its balancer says.
-- Phase: any with `ngx.shared`.
-- @tparam string key
-- @tparam number revision
-- @treturn ?table
function M.get(key, revision)
  return backends:get(key, revision)
end

return M
