--- Host records: parsed and looked up by the request's host.
-- @module narthex.route.host

local locations = require("narthex.route.locations")
local names = require("narthex.route.names")
local record_ = require("narthex.state.record")
local store = require("narthex.state.store")
local tables = require("narthex.state.tables")
local wire = require("narthex.state.wire")

local byte = string.byte
local find = string.find
local sub = string.sub

local LIMIT = 16384
local STAR, TILDE = byte("*~", 1, 2)

--- The record of names that are patterns.
local PATTERNS = "~"

local M = {}

local config, hosts, empty

--- Whether the version of before may stand in for a record: it names a profile that the host's server block in this worker does not
-- have, and protects nothing that was perhaps open then.
local function may_wait(key, given)
  for _, policy in ipairs(given.policies or {}) do
    for field in pairs(wire.Owned.protects) do
      if policy[field] then
        return false
      end
    end
  end
  local known = config.profiles_of(key)
  for _, location in ipairs(given.locations) do
    if location.profile and not known[location.profile] then
      return true
    end
  end
  return false
end

local function parse(key, text, previous)
  local given, err = record_.decode(wire.HostRecord, text)
  if not given then
    return nil, err
  end
  if given.patterns then
    return names.compile(given.patterns)
  end
  -- A worker that is being replaced keeps what it can serve.
  if previous and may_wait(key, given) then
    return previous
  end
  return locations.compile(key, given, config)
end

--- Takes the global settings. Phase: init.
-- @tparam table given from `narthex.config`
function M.setup(given)
  config = given
  hosts = store.new(tables.BY_NAME.host, parse, LIMIT)
  empty = locations.compile("_", { locations = {} }, config)
end

--- The record of the first other name that a host has.
local function of_name(patterns, name, host, revision)
  local target = patterns and name(patterns, host)
  return target and hosts:get(target, revision)
end

--- The record for a host: its own, else of a suffix that is another name, else that of the wildcard one label up, else of a regular
-- expression that is another name, else that of `_`.
-- Phase: any with `ngx.shared`.
-- @tparam string host lower case, without port
-- @tparam number revision
-- @treturn table see `narthex.route.locations`; an empty one when there is none at all
-- @treturn boolean whether the record is of exactly this name, so that facts about the host can be kept in it
-- @treturn boolean whether it is the catch-all
function M.find(host, revision)
  local first = byte(host)
  if first ~= STAR and first ~= TILDE then
    local record = hosts:get(host, revision)
    if record then
      -- A request without a host has that of the default server, "_".
      return record, true, host == "_"
    end
    local patterns = hosts:get(PATTERNS, revision)
    record = of_name(patterns, names.suffix, host, revision)
    if record then
      return record, false, false
    end
    local dot = find(host, ".", 1, true)
    if dot and find(host, "^[%w_-]+%.") then
      record = hosts:get("*" .. sub(host, dot), revision)
      if record then
        return record, false, false
      end
    end
    record = of_name(patterns, names.regex, host, revision)
    if record then
      return record, false, false
    end
  end
  return hosts:get("_", revision) or empty, false, true
end

--- Whether a name is a host of its own, or covered by one: not left to the catch-all. Phase: any with `ngx.shared`.
-- @tparam string name lower case, without port
-- @treturn boolean
function M.is_known(name)
  local _, _, catch_all = M.find(name, store.revision())
  return not catch_all
end

return M
