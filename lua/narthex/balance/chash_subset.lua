--- Consistent hashing to a subset of the peers: requests with the same key go to the same few peers, to any of them.
--
-- Peers, in order, are cut into sets of equal size; the last one is filled up with the first peers. The sets `set1`, `set2`, ... are
-- on a ring like peers of `narthex.balance.chash`. A retry takes what is untried in the set, then goes on to the next sets.
-- @module narthex.balance.chash_subset

local expand = require("narthex.request.expand")
local peers_ = require("narthex.balance.peers")
local ring = require("narthex.balance.ring")

local setmetatable = setmetatable

local M = { name = "chash_subset" }

local Subset = {}
local mt = { __index = Subset }

local function cut(peers, size)
  local sets, ids = {}, {}
  for first = 1, #peers, size do
    local set = {}
    for i = first, first + size - 1 do
      set[#set + 1] = peers[(i - 1) % #peers + 1]
    end
    ids[#ids + 1] = "set" .. ("%d"):format(#ids + 1)
    sets[ids[#ids]] = set
  end
  return sets, ids
end

--- A balancer over peers.
-- Phase: any.
-- @tparam string _ key of the backend
-- @tparam table peers from `narthex.balance.peers`, not empty
-- @tparam ?table old what balanced this backend until now
-- @tparam table rule `hash` of a backend record
-- @treturn Subset
function M.new(_, peers, old, rule)
  -- A set has each peer once.
  local sets, ids = cut(peers, math.min(math.max(rule.upstream_hash_by_subset_size, 1), #peers))
  local former = old and old.algorithm == M and old.ring or nil
  local self = { algorithm = M, peers = peers, size = #peers, sets = sets, by = expand.compile(rule.upstream_hash_by) }
  self.ring, self.needs_captures = ring.new(ids, former), expand.has_captures(self.by)
  return setmetatable(self, mt)
end

--- A peer of the set for a request's key.
-- Phase: any in which `ngx.var` works.
-- @tparam ?string tried from `narthex.balance.peers`.tried
-- @tparam table var `ngx.var`
-- @tparam ?table captures of the path's regex
-- @treturn table the peer
function Subset:pick(tried, var, captures)
  local sets = self.sets
  local at = self.ring:locate(expand.eval(self.by, var, captures))
  if tried then
    local peer
    self.ring:owner(at, function(id)
      peer = peers_.any_untried(sets[id], tried)
      return peer ~= nil
    end)
    if peer then
      return peer
    end
  end
  local set = sets[self.ring:owner(at)]
  return set[peers_.any(set)]
end

return M
