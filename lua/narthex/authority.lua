--- Requests in absolute form (`GET http://a/x`), as proxies get them: RFC 9112 (3.2.2) has what stands there take the place of Host.
--
-- NGINX goes by it when it looks for the server, and leaves the header as it is, so that the authentication service, the backend and
-- the log would have another host than the one whose rules let the request pass.
-- @module narthex.authority

local ngx = ngx

local byte = string.byte
local find = string.find
local match = string.match
local set_header = ngx.req.set_header

local SLASH = byte("/")

local M = {}

--- Lets the request have one host. Before anything asks for a variable that holds one. Phase: rewrite.
-- @tparam table var `ngx.var`
function M.settle(var)
  local line = var.request
  -- Nearly all requests go on with a path; this is compiled, patterns are not.
  local blank = line and find(line, " ", 1, true)
  if not blank or byte(line, blank + 1) == SLASH then
    return
  end
  local authority = match(line, "^[^ ]+ %a[%w+.-]*://([^/?# ]+)")
  if authority then
    set_header("Host", authority)
  end
end

return M
