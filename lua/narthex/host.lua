--- Host records: parsed and looked up by the request's host.
-- @module narthex.host

local ngx = ngx
local cjson = require("cjson.safe")
local locations = require("narthex.locations")
local store = require("narthex.store")

local byte = string.byte
local find = string.find
local sub = string.sub

local LIMIT = 16384
local STAR = byte("*")

local M = {}

local config, hosts, empty

local function has_unknown_profile(given)
  for _, route in ipairs(given.routes) do
    if route.prof and not config.profiles[route.prof] then
      return true
    end
  end
end

local function parse(key, text, previous)
  local given, err = cjson.decode(text)
  if type(given) ~= "table" or type(given.routes) ~= "table" then
    return nil, err or "no list of routes"
  end
  -- A worker that is being replaced keeps what it can serve.
  if previous and has_unknown_profile(given) then
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

--- The record for a host: its own, else that of the wildcard one label up, else that of `_`.
-- Phase: any with `ngx.shared`.
-- @tparam string host lower case, without port
-- @tparam number revision
-- @treturn table see `narthex.locations`; an empty one when there is none at all
-- @treturn boolean whether the record is of exactly this name, so that facts about the host can be kept in it
-- @treturn boolean whether it is the catch-all
function M.find(host, revision)
  if byte(host) ~= STAR then
    local record = hosts:get(host, revision)
    if record then
      -- A request without a host has that of the default server, "_".
      return record, true, host == "_"
    end
    local dot = find(host, ".", 1, true)
    if dot and find(host, "^[%w_-]+%.") then
      record = hosts:get("*" .. sub(host, dot), revision)
      if record then
        return record, false, false
      end
    end
  end
  return hosts:get("_", revision) or empty, false, true
end

return M
