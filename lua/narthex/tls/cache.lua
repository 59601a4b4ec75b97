--- What a worker keeps, by key, up to a number of bytes that the garbage collector does not know of.
--
-- It is freed at once when something else needs the room: the oldest items first, but for those that were used since they were last
-- looked at.
-- @module narthex.tls.cache

local setmetatable = setmetatable

local M = {}

local Cache = {}
local mt = { __index = Cache }

--- A cache. Phase: init.
-- @tparam number limit bytes in all; a larger item is kept alone
-- @tparam function free takes an item that is kept no more
-- @treturn Cache
function M.new(limit, free)
  return setmetatable({ limit = limit, free = free, entries = {}, queue = {}, first = 1, last = 0, bytes = 0 }, mt)
end

local function push(self, entry)
  local last = self.last + 1
  self.queue[last], self.last = entry, last
end

--- Takes the oldest item out, unless it was used.
local function pop(self)
  local first = self.first
  local entry = self.queue[first]
  self.queue[first], self.first = nil, first + 1
  if entry.is_used then
    entry.is_used = false
    push(self, entry)
    return
  end
  self.entries[entry.key], self.bytes = nil, self.bytes - entry.bytes
  self.free(entry.item)
end

--- The item with a key. Phase: any.
-- @tparam string key
-- @return nil: there is none
function Cache:get(key)
  local entry = self.entries[key]
  if not entry then
    return nil
  end
  entry.is_used = true
  return entry.item
end

--- Adds an item. Phase: any.
-- @tparam string key that has none
-- @param item anything but nil
-- @tparam number bytes that it takes
function Cache:add(key, item, bytes)
  while self.bytes + bytes > self.limit and self.first <= self.last do
    pop(self)
  end
  local entry = { key = key, item = item, bytes = bytes, is_used = false }
  self.entries[key], self.bytes = entry, self.bytes + bytes
  push(self, entry)
end

return M
