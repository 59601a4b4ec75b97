--- Lists of users with their hashed passwords, by content address.
-- @module narthex.auth.users

local record = require("narthex.state.record")
local store = require("narthex.state.store")
local tables = require("narthex.state.tables")
local wire = require("narthex.state.wire")

local LIMIT = 1024

local M = {}

local function parse(_, text)
  local given, err = record.decode(wire.Users, text)
  return given and { by_name = given.users }, err
end

local lists = store.new(tables.BY_NAME.users, parse, LIMIT)

--- The hash of a user. Phase: any with `ngx.shared`.
-- @tparam string id content address of the list
-- @tparam string name for digest authentication `name:realm`
-- @treturn ?string
function M.hash(id, name)
  local list = lists:get(id, store.revision())
  return list and list.by_name[name]
end

return M
