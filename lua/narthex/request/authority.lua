--- Requests in absolute form (`GET http://a/x`), as proxies get them: RFC 9112 (3.2.2) has what stands there take the place of Host.
--
-- NGINX goes by it when it looks for the server, and leaves the header as it is, so that the authentication service, the backend and
-- the log would have another host than the one whose rules let the request pass.
-- @module narthex.request.authority

local ngx = ngx
local raw = require("narthex.request.raw")

local match = string.match
local set_header = ngx.req.set_header

local BLANK, SLASH = string.byte(" /", 1, 2)

local M = {}

--- Whether the target of the request begins with a slash, as nearly all do. The commonest methods have three letters, which needs no loop.
local function is_path(line, length)
  if length > 4 and line[3] == BLANK then
    return line[4] == SLASH
  end
  for i = 0, length - 2 do
    if line[i] == BLANK then
      return line[i + 1] == SLASH
    end
  end
  return true
end

--- Lets the request have one host. Before anything asks for a variable that holds one. Phase: rewrite.
-- @tparam table var `ngx.var`
function M.settle(var)
  local line, length = raw.get("request")
  if not line or is_path(line, length) then
    return
  end
  local authority = match(var.request, "^[^ ]+ +%a[%w+.-]*://([^/?# ]+)")
  if authority then
    set_header("Host", authority)
  end
end

return M
