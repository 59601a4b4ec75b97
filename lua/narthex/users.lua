--- Lists of users with their hashed passwords, by content address.
-- @module narthex.users

local ngx = ngx
local cjson = require("cjson.safe")
local store = require("narthex.store")

local LIMIT = 1024

local M = {}

local function parse(_, text)
  local given, err = cjson.decode(text)
  if type(given) ~= "table" or type(given.users) ~= "table" then
    return nil, err or "no users"
  end
  return { by_name = given.users }
end

local lists = store.new(ngx.shared.certificate_data, "u:", parse, LIMIT)

--- The hash of a user. Phase: any with `ngx.shared`.
-- @tparam string id content address of the list
-- @tparam string name for digest authentication `name:realm`
-- @treturn ?string
function M.hash(id, name)
  local list = lists:get(id, store.revision())
  local hash = list and list.by_name[name]
  return type(hash) == "string" and hash or nil
end

return M
