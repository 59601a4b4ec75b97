--- Certificates of clients: what a host asks for beyond what NGINX verifies, and where those go who are refused.
-- @module narthex.auth.clients

local ngx = ngx
local host = require("narthex.route.host")
local reason = require("narthex.request.reason")
local store = require("narthex.state.store")

local byte = string.byte
local exit = ngx.exit
local re_find = ngx.re.find

local M = {}

local AT, SLASH = byte("@/", 1, 2)
--- Of NGINX: the client has none, or a bad one. Both become 400.
local NO_CERTIFICATE, BAD_CERTIFICATE = 496, 495

--- The host is closed, or wants another client certificate than this. Returns when the request goes on.
-- Phase: rewrite.
-- @tparam table var `ngx.var`
-- @tparam table route with an `extra`
function M.check(var, route)
  local extra = route.extra
  if extra.forbidden then
    reason.refuse(var, route, ngx.HTTP_FORBIDDEN, reason.WORDS.PROTECTION_UNUSABLE)
    return exit(ngx.HTTP_FORBIDDEN)
  end
  if var.narthex_clients ~= extra.verified then
    -- The server block that asks for this host's certificates is on its way, or another one caught the name.
    reason.refuse(var, route, ngx.HTTP_SERVICE_UNAVAILABLE, reason.WORDS.RELOAD_PENDING)
    return exit(ngx.HTTP_SERVICE_UNAVAILABLE)
  end
  if extra.subject and not re_find(var.ssl_client_s_dn or "", extra.subject, "jo") then
    reason.refuse(var, route, ngx.HTTP_FORBIDDEN, reason.WORDS.CLIENT_CERTIFICATE)
    ngx.status = ngx.HTTP_FORBIDDEN
    ngx.print("client certificate unauthorized")
    return exit(ngx.HTTP_OK)
  end
  if extra.passes_certificate then
    var.narthex_passes_certificate = "1"
  end
end

--- Does with a client without a good certificate what `error_page` would.
-- Phase: rewrite, of the location for it.
function M.refused()
  local var = ngx.var
  local record = host.find(var.host, store.revision())
  local page = record.client_page
  if not page then
    reason.refuse(var, record.default, 400, reason.WORDS.CLIENT_CERTIFICATE)
    return exit(var.ssl_client_verify == "NONE" and NO_CERTIFICATE or BAD_CERTIFICATE)
  end
  local first = byte(page)
  if first == AT then
    return ngx.exec(page)
  elseif first ~= SLASH then
    return ngx.redirect(page)
  end
  if var.request_method ~= "HEAD" then
    ngx.req.set_method(ngx.HTTP_GET)
  end
  return ngx.exec(page)
end

return M
