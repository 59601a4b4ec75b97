--- What a worker keeps, by key, up to a number of bytes that the garbage collector does not know of.
--
-- It is freed at once when something else needs the room: the oldest items first, but for those that were used since they were last looked at.
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
  return setmetatable({ limit = limit, free = free, items = {}, queue = {}, first = 1, last = 0, bytes = 0 }, mt)
end

local function push(self, item)
  local last = self.last + 1
  self.queue[last], self.last = item, last
end

--- Takes the oldest item out, unless it was used.
local function pop(self)
  local first = self.first
  local item = self.queue[first]
  self.queue[first], self.first = nil, first + 1
  if item.is_used then
    item.is_used = false
    push(self, item)
    return
  end
  self.items[item.key], self.bytes = nil, self.bytes - item.bytes
  self.free(item)
end

--- The item with a key. Phase: any.
-- @tparam string key
-- @treturn ?table
function Cache:get(key)
  local item = self.items[key]
  if item then
    item.is_used = true
  end
  return item
end

--- Adds an item. Phase: any.
-- @tparam string key that has none
-- @tparam table item in which `key`, `bytes` and `is_used` are the cache's
-- @tparam number bytes that it takes
function Cache:add(key, item, bytes)
  while self.bytes + bytes > self.limit and self.first <= self.last do
    pop(self)
  end
  item.key, item.bytes, item.is_used = key, bytes, false
  self.items[key], self.bytes = item, self.bytes + bytes
  push(self, item)
end

return M
