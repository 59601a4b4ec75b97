--- Round robin, weighted and smooth.
--
-- Each pick adds every peer's weight to its credit, takes the peer with the greatest credit and takes the sum of weights
-- from it: in any window of that many picks each peer gets its share, spread out. With equal weights that is a walk round the
-- list, which is what is done then, in constant time.
-- Each worker starts somewhere else. A change of endpoints keeps the position (or the credits) of those that stay.
-- A retry leaves out what the request has tried, until everything was tried.
-- @module narthex.balance.round_robin

local peers_ = require("narthex.balance.peers")

local setmetatable = setmetatable
local is_tried = peers_.is_tried
local random = math.random

local M = { name = "round_robin" }

local RoundRobin = {}
local mt = { __index = RoundRobin }

local function equal_weights(peers)
  for i = 2, #peers do
    if peers[i].weight ~= peers[1].weight then
      return false
    end
  end
  return true
end

local function credits_of(peers, old)
  local credits, sum = {}, 0
  for i = 1, #peers do
    sum = sum + peers[i].weight
  end
  for i = 1, #peers do
    local before = old and old.credits and peers_.index(old.peers, peers[i].id)
    credits[i] = before and old.credits[before] or random() * sum
  end
  return credits
end

--- A balancer over peers.
-- Phase: any.
-- @tparam string _ key of the backend
-- @tparam table peers from `narthex.balance.peers`, not empty
-- @tparam ?RoundRobin old what balanced this backend until now
-- @treturn RoundRobin
function M.new(_, peers, old)
  local self = { algorithm = M, peers = peers, size = #peers }
  if equal_weights(peers) then
    local last = old and old.cursor and old.peers[old.cursor]
    self.cursor = last and peers_.index(peers, last.id) or peers_.any(peers)
  else
    self.credits = credits_of(peers, old)
  end
  return setmetatable(self, mt)
end

local function walk(self, tried)
  local peers, size, at = self.peers, self.size, self.cursor
  for _ = 1, tried and size or 1 do
    at = at % size + 1
    if not tried or not is_tried(peers[at], tried) then
      self.cursor = at
      return peers[at]
    end
  end
end

local function weigh(self, tried)
  local peers, credits, sum, best = self.peers, self.credits, 0, nil
  for i = 1, self.size do
    if not tried or not is_tried(peers[i], tried) then
      sum = sum + peers[i].weight
      credits[i] = credits[i] + peers[i].weight
      if not best or credits[i] > credits[best] then
        best = i
      end
    end
  end
  if best then
    credits[best] = credits[best] - sum
    return peers[best]
  end
end

--- The next peer.
-- Phase: any.
-- @tparam ?string tried from `narthex.balance.peers`.tried
-- @treturn table the peer
function RoundRobin:pick(tried)
  local step = self.cursor and walk or weigh
  return step(self, tried) or step(self, nil)
end

return M
