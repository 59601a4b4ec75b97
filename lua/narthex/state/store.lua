--- Records in a shared dictionary, parsed once per worker and change.
--
-- Every applied batch increments the revision (`rev` in `configuration_data`), and every record carries as its user
-- flags the stamp of the batch that wrote it. A worker that meets the revision of last time uses what it parsed; after a
-- change it reads a record when it is next needed, and parses it only if its stamp differs.
--
-- Bounded: two generations of at most `limit` records. A full young one becomes the old one; what is used moves back.
-- Absent records are not remembered, so requests for unknown names cost dictionary reads and no memory.
-- @module narthex.state.store

local jit = jit
local ngx = ngx
local pcall = pcall
local setmetatable = setmetatable
local dictionaries = require("narthex.state.dictionaries")
local wire = require("narthex.state.wire")

local M = {}

local Store = {}
local mt = { __index = Store }

local state = dictionaries.get("configuration_data")

--- The current revision. Phase: any with `ngx.shared`.
-- @treturn number
function M.revision()
  return state:get("rev")
end

--- Whether the controller has sent everything once since NGINX started. Until then an unknown name is no proof of absence.
-- Nor is it while the records are those of a controller that writes others.
-- Phase: any with `ngx.shared`.
-- @treturn boolean
function M.is_complete()
  return state:get("generation") == wire.FORMAT
end

--- A store.
-- Phase: init.
-- @tparam table place of `narthex.state.tables`: the shared dictionary, and the prefix of the keys in it
-- @tparam function parse_record `(key, text, previous)` to the parsed record, a table in which `revision`, `stamp` and `unusable`
--   are the store's, or to `nil, err`; `previous` may be nil
-- @tparam number limit records in one generation
-- @treturn Store
function M.new(place, parse_record, limit)
  local self = { dict = place.dict, prefix = place.prefix, parse = parse_record, limit = limit, young = {}, old = {}, count = 0 }
  return setmetatable(self, mt)
end

local function keep(self, key, record)
  if self.young[key] == record then
    return
  end
  if not self.young[key] then
    self.count = self.count + 1
    if self.count > self.limit then
      self.old, self.young, self.count = self.young, {}, 1
    end
  end
  self.young[key] = record
end

--- A record that can't be parsed replaces nothing; without a previous one it is remembered as unusable, to be reported once.
local function parse(self, key, text, stamp, previous)
  previous = previous and not previous.unusable and previous or nil
  local ok, record, err = pcall(self.parse, key, text, previous)
  if not ok then
    record, err = nil, record
  end
  if not record then
    ngx.log(ngx.ERR, "record ", self.prefix, key, ": ", err, previous and ", the previous one stays" or ", it is ignored")
    record = previous or { unusable = true }
  end
  record.stamp = stamp
  return record
end
-- Rare, and full of what can't be compiled: traces of the requests that come first would be recorded through it, and given up.
jit.off(parse)

local function refresh(self, key, revision)
  local record = self.young[key] or self.old[key]
  if not record or record.revision ~= revision then
    local text, stamp = self.dict:get(self.prefix .. key)
    if not text then
      if record then
        self.young[key], self.old[key] = nil, nil
      end
      return nil
    end
    stamp = stamp or 0
    if not record or record.stamp ~= stamp then
      record = parse(self, key, text, stamp, record)
    end
  end
  keep(self, key, record)
  if record.unusable then
    return nil
  end
  record.revision = revision
  return record
end

--- A record as it is at `revision`.
-- Phase: any with `ngx.shared`.
-- @tparam string key without the prefix
-- @tparam number revision from `revision()`, read once in a phase
-- @treturn ?table the parsed record; nil if there is none that can be used
function Store:get(key, revision)
  local record = self.young[key]
  if record and record.revision == revision then
    return record
  end
  return refresh(self, key, revision)
end

return M
