--- Consistent hashing: requests with the same key go to the same peer.
--
-- A retry goes on round the ring to the next peer that the request has not tried, so that it does not meet the one that failed and
-- leads to the same peer for everybody with the key.
-- @module narthex.balance.chash

local expand = require("narthex.request.expand")
local peers_ = require("narthex.balance.peers")
local ring = require("narthex.balance.ring")

local setmetatable = setmetatable
local is_tried = peers_.is_tried

local M = { name = "chash" }

local Chash = {}
local mt = { __index = Chash }

--- A balancer over peers.
-- Phase: any.
-- @tparam string _ key of the backend
-- @tparam table peers from `narthex.balance.peers`, not empty
-- @tparam ?table old what balanced this backend until now
-- @tparam table rule `hash` of a backend record
-- @treturn Chash
function M.new(_, peers, old, rule)
  local by_id, ids = peers_.by_id(peers)
  local former = old and old.algorithm == M and old.ring or nil
  local self = { algorithm = M, peers = peers, size = #peers, by_id = by_id, by = expand.compile(rule.upstream_hash_by) }
  self.ring, self.needs_captures = ring.new(ids, former), expand.has_captures(self.by)
  return setmetatable(self, mt)
end

--- The peer for a request's key.
-- Phase: any in which `ngx.var` works.
-- @tparam ?string tried from `narthex.balance.peers`.tried
-- @tparam table var `ngx.var`
-- @tparam ?table captures of the path's regex
-- @treturn table the peer
function Chash:pick(tried, var, captures)
  local at, by_id = self.ring:locate(expand.eval(self.by, var, captures)), self.by_id
  local id = tried and self.ring:owner(at, function(id) return not is_tried(by_id[id], tried) end)
  return by_id[id or self.ring:owner(at)]
end

return M
