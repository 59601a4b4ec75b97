--- EWMA: of two random peers, the one whose recent answers were faster.
--
-- Score of a peer: exponentially weighted mean of its response times in seconds, decaying with a time constant of 10 s,
-- so that an unused peer becomes attractive again. Scores are shared by all workers, per backend and address:
-- two Services that share an address do not share its score.
-- A sample is dropped rather than waited for when another worker updates the same peer.
-- Peers that a change adds start with the mean of the others, so that they are not flooded. Those that leave lose their score.
-- @module narthex.balance.ewma

local ngx = ngx
local dictionaries = require("narthex.state.dictionaries")
local peers_ = require("narthex.balance.peers")

local setmetatable = setmetatable
local is_tried = peers_.is_tried
local random = math.random
local exp = math.exp
local max = math.max
local now = ngx.now

local DECAY_SECONDS = 10
local LOCK_SECONDS = 0.1

local scores = dictionaries.get("balancer_ewma")
local touched = dictionaries.get("balancer_ewma_last_touched_at")
local locks = dictionaries.get("balancer_ewma_locks")

--- `in_use`: this worker has made a balancer of this kind, so the log phase has something to do.
local M = { name = "ewma", in_use = false }

local Ewma = {}
local mt = { __index = Ewma }

local function decayed(key, rtt)
  local score, time = scores:get(key) or 0, touched:get(key) or 0
  local weight = exp(-max(now() - time, 0) / DECAY_SECONDS)
  return score * weight + rtt * (1 - weight)
end

local function adopt(self, old)
  local sum, count = 0, 0
  for i = 1, self.size do
    local score = scores:get(self.keys[i])
    if score then
      sum, count = sum + score, count + 1
    end
  end
  for i = 1, self.size do
    if count > 0 and not old.key_of[self.peers[i].id] then
      -- `add`: another worker may have done it, and the peer been measured since.
      if scores:safe_add(self.keys[i], sum / count) then
        touched:set(self.keys[i], now())
      end
    end
  end
  for id, key in pairs(old.key_of) do
    if not self.key_of[id] then
      scores:delete(key)
      touched:delete(key)
    end
  end
end

--- A balancer over peers.
-- Phase: any.
-- @tparam string backend its key
-- @tparam table peers from `narthex.balance.peers`, not empty
-- @tparam ?table old what balanced this backend until now
-- @treturn Ewma
function M.new(backend, peers, old)
  M.in_use = true
  local keys, key_of = {}, {}
  for i = 1, #peers do
    keys[i] = backend .. " " .. peers[i].id
    key_of[peers[i].id] = keys[i]
  end
  local self = setmetatable({ algorithm = M, peers = peers, size = #peers, keys = keys, key_of = key_of }, mt)
  if old and old.algorithm == M then
    adopt(self, old)
  end
  return self
end

--- The better of two random untried peers.
-- Phase: any with `ngx.shared`.
-- @tparam ?string tried from `narthex.balance.peers`.tried
-- @treturn table the peer
-- @treturn ?number its score, where there was a choice
function Ewma:pick(tried)
  local peers, keys, size = self.peers, self.keys, self.size
  if tried then
    local left, left_keys = {}, {}
    for i = 1, size do
      if not is_tried(peers[i], tried) then
        left[#left + 1], left_keys[#left + 1] = peers[i], keys[i]
      end
    end
    if #left > 0 then
      peers, keys, size = left, left_keys, #left
    end
  end
  if size == 1 then
    return peers[1]
  end
  local first, second = random(size), random(size - 1)
  if second >= first then
    second = second + 1
  end
  local score, other = decayed(keys[first], 0), decayed(keys[second], 0)
  if score <= other then
    return peers[first], score
  end
  return peers[second], other
end

--- Takes a measured answer into a peer's score.
-- Phase: log.
-- @tparam string id of the peer; unknown ones are ignored
-- @tparam number rtt seconds to connect and answer
function Ewma:feed(id, rtt)
  local key = self.key_of[id]
  if not key or not locks:add(key, true, LOCK_SECONDS) then
    return
  end
  local score = decayed(key, rtt)
  scores:set(key, score)
  touched:set(key, now())
  locks:delete(key)
end

return M
