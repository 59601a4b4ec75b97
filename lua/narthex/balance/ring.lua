--- A ring for consistent hashing: when endpoints come and go, few keys change their owner.
--
-- Every owner has 160 points. The first is the CRC-32 of its id and four zero bytes, each further one that of its id and the point
-- before as 32 bits, low byte first. A key belongs to the first point from its own CRC-32 on, round the ring. Any replica, and any
-- other implementation of the same rule, comes to the same owners.
--
-- A ring takes the points of what stays from the one before it, so a change costs hashing and sorting for what is new only.
-- @module narthex.balance.ring

local ngx = ngx

local char = string.char
local crc32 = ngx.crc32_long
local floor = math.floor
local setmetatable = setmetatable
local sort = table.sort

local POINTS = 160
--- Points and ranks are sorted as one number each: 32 bits and 20 bits fit into a double.
local RANKS = 2 ^ 20

local M = {}

local Ring = {}
local mt = { __index = Ring }

local function little_endian(number)
  return char(number % 256, floor(number / 256) % 256, floor(number / 65536) % 256, floor(number / 16777216))
end

--- Points of ids that the old ring does not have, in order, with their owners.
local function fresh_points(ids, old)
  local newcomers, numbers = {}, {}
  for i = 1, #ids do
    if not (old and old.has[ids[i]]) then
      newcomers[#newcomers + 1] = ids[i]
    end
  end
  sort(newcomers)
  for rank, id in ipairs(newcomers) do
    local last = 0
    for _ = 1, POINTS do
      last = crc32(id .. little_endian(last))
      numbers[#numbers + 1] = last * RANKS + rank - 1
    end
  end
  sort(numbers)
  local points, owners = {}, {}
  for i = 1, #numbers do
    points[i] = floor(numbers[i] / RANKS)
    owners[i] = newcomers[numbers[i] % RANKS + 1]
  end
  return points, owners
end

--- Merges what stays of the old ring with what is new. Equal points are ordered by their owners.
local function merge(old, has, points, owners)
  local all, all_owners, at, old_at = {}, {}, 1, 1
  local old_points, old_owners = old.points, old.owners
  while true do
    while old_at <= #old_points and not has[old_owners[old_at]] do
      old_at = old_at + 1
    end
    local point, old_point = points[at], old_points[old_at]
    if not point and not old_point then
      return all, all_owners
    end
    local n = #all + 1
    if not point or old_point and (old_point < point or old_point == point and old_owners[old_at] < owners[at]) then
      all[n], all_owners[n], old_at = old_point, old_owners[old_at], old_at + 1
    else
      all[n], all_owners[n], at = point, owners[at], at + 1
    end
  end
end

--- A ring of owners.
-- Phase: any.
-- @tparam table ids of the owners, without duplicates, not empty, fewer than a million
-- @tparam ?Ring old the ring that this one takes the place of
-- @treturn Ring
function M.new(ids, old)
  local has = {}
  for i = 1, #ids do
    has[ids[i]] = true
  end
  local points, owners = fresh_points(ids, old)
  if old then
    points, owners = merge(old, has, points, owners)
  end
  return setmetatable({ has = has, points = points, owners = owners }, mt)
end
jit.off(M.new, true)

--- Where on the ring a key is.
-- Phase: any.
-- @tparam string key
-- @treturn number what `owner` takes
function Ring:locate(key)
  local points, wanted = self.points, crc32(key)
  local low, high = 1, #points + 1
  while low < high do
    local middle = floor((low + high) / 2)
    if points[middle] < wanted then
      low = middle + 1
    else
      high = middle
    end
  end
  return low
end

--- The owner of a place on the ring, or the first one from there on that is wanted.
-- Phase: any.
-- @tparam number at from `locate`
-- @tparam ?function wanted `(id)`; without it the first will do
-- @treturn ?string its id; nil if none is wanted
function Ring:owner(at, wanted)
  local owners = self.owners
  local size, last = #owners, nil
  for i = at - 1, at + size - 2 do
    local id = owners[i % size + 1]
    if id ~= last then
      if not wanted or wanted(id) then
        return id
      end
      last = id
    end
  end
end

return M
