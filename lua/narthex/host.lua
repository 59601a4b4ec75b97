--- Host records: parsed and looked up by the request's host.
-- @module narthex.host

local ngx = ngx
local cjson = require("cjson.safe")
local locations = require("narthex.locations")
local names = require("narthex.names")
local store = require("narthex.store")

local byte = string.byte
local find = string.find
local sub = string.sub

local LIMIT = 16384
local STAR, TILDE = byte("*~", 1, 2)

--- The record of names that are patterns.
local PATTERNS = "~"

local M = {}

local config, hosts, empty

--- Fields of a route that say who may pass.
local PROTECTING = { "acl", "auth", "certs", "cn", "deny", "forbid", "pw" }

--- Whether the version of before may stand in for a record: it names a profile that the host's server block in this worker does not
-- have, and protects nothing that was perhaps open then.
local function may_wait(key, given)
  local known, unknown = config.profiles_of(key), false
  for _, route in ipairs(given.routes) do
    for _, field in ipairs(PROTECTING) do
      if route[field] then
        return false
      end
    end
    unknown = unknown or route.prof and not known[route.prof]
  end
  return unknown
end

local function parse(key, text, previous)
  local given, err = cjson.decode(text)
  if type(given) ~= "table" or type(given.routes) ~= "table" then
    return nil, err or "no list of routes"
  end
  if given.names then
    return names.compile(given.names)
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
  hosts = store.new(ngx.shared.configuration_data, "h:", parse, LIMIT)
  empty = locations.compile("_", { routes = {} }, config)
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
-- @treturn table see `narthex.locations`; an empty one when there is none at all
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

return M
