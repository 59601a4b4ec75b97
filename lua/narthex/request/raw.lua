--- Variables as bytes.
--
-- A Lua string is looked up among all strings that there are, and collected later. For a value that no other request has, that costs more
-- than to read or write it.
-- @module narthex.request.raw

local base = require("resty.core.base")
local ffi = require("ffi")
-- Declares the functions.
require("resty.core.var")

local C = ffi.C
local get_request = base.get_request

local OK = 0
local MOST_NAME, MOST_ERROR = 64, 256

local bytes, length, problem = ffi.new("char *[1]"), ffi.new("size_t[1]"), ffi.new("char *[1]")
local scratch = ffi.new("unsigned char[?]", MOST_NAME + MOST_ERROR)
local problem_length = ffi.new("size_t[1]")

local M = {}

--- Reads a variable. Phase: any with a request.
-- @tparam string name of at most 64 bytes
-- @treturn ?cdata `char *`, until the request changes it; nil when it is not there
-- @treturn ?number bytes
function M.get(name)
  local code = C.ngx_http_lua_ffi_var_get(get_request(), name, #name, ffi.cast("char *", scratch), 0, bytes, length, problem)
  if code == OK then
    return bytes[0], tonumber(length[0])
  end
end

--- Sets a variable that can be set. Phase: any with a request.
-- @tparam string name of at most 64 bytes
-- @tparam cdata value `unsigned char *`, which is copied
-- @tparam number count bytes
function M.set(name, value, count)
  problem_length[0] = MOST_ERROR
  local code = C.ngx_http_lua_ffi_var_set(get_request(), name, #name, scratch, value, count, scratch + MOST_NAME, problem_length)
  if code ~= OK then
    error(ffi.string(scratch + MOST_NAME, problem_length[0]))
  end
end

return M
