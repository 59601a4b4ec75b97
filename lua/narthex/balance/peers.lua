--- The endpoints of a backend, in the forms that balancing needs.
-- @module narthex.balance.peers

local find = string.find
local match = string.match
local random = math.random

local M = {}

--- Reads the endpoints of a backend record.
-- Phase: any.
-- @tparam table list of `{address, port[, weight]}`
-- @treturn table list of `{host, port, id, mark, weight}`; `id` is the `host:port` of `$upstream_addr`, `mark` is how it stands in
--   a list of `M.tried`
function M.parse(list)
  local peers = {}
  for _, endpoint in ipairs(list) do
    local address, port = endpoint[1], endpoint[2]
    local host = find(address, ":", 1, true) and "[" .. address .. "]" or address
    local id = host .. ":" .. ("%d"):format(port)
    local weight = math.max(math.floor(endpoint[3] or 1), 1)
    peers[#peers + 1] = { host = host, port = port, id = id, mark = ", " .. id .. ",", weight = weight }
  end
  return peers
end
jit.off(M.parse)

--- The peers that this request has tried, from `$upstream_addr` during a retry: `a:1, b:2 : `, where the try that begins is
-- the empty element at the end, and an earlier ` : ` is an internal redirect.
-- Phase: balancer.
-- @tparam ?string addresses value of the variable; only what follows the last internal redirect counts
-- @treturn ?string a text in which `mark`s of peers are looked up
function M.tried(addresses)
  if not addresses or addresses == "" then
    return nil
  end
  addresses = match(addresses, "^(.*) : $") or addresses
  return ", " .. (match(addresses, ".* : (.*)$") or addresses) .. ","
end

--- Whether a peer is among the tried ones. Phase: any.
-- @tparam table peer
-- @tparam string tried from `M.tried`
-- @treturn boolean
function M.is_tried(peer, tried)
  return find(tried, peer.mark, 1, true) ~= nil
end

--- Index of the peer with this id. Phase: any.
-- @tparam table peers
-- @tparam string id
-- @treturn ?number
function M.index(peers, id)
  for i = 1, #peers do
    if peers[i].id == id then
      return i
    end
  end
end

--- The peers by id, and the ids in order without duplicates. Phase: any.
-- @tparam table peers
-- @treturn table id to peer
-- @treturn table list of ids
function M.by_id(peers)
  local by_id, ids = {}, {}
  for i = 1, #peers do
    local id = peers[i].id
    if not by_id[id] then
      by_id[id] = peers[i]
      ids[#ids + 1] = id
    end
  end
  return by_id, ids
end

--- A random peer that was not tried; nil if all were. Phase: any.
-- @tparam table peers
-- @tparam string tried from `M.tried`
-- @treturn ?table
function M.any_untried(peers, tried)
  local left, chosen = 0, nil
  for i = 1, #peers do
    local peer = peers[i]
    if not M.is_tried(peer, tried) then
      left = left + 1
      -- Each one so far with equal chance.
      if random(left) == 1 then
        chosen = peer
      end
    end
  end
  return chosen
end

--- A random index, so that workers don't walk in step. Phase: any.
-- @tparam table peers not empty
-- @treturn number
function M.any(peers)
  return random(#peers)
end

return M
