--- Phase entry: response headers (`header_filter_by_lua`).
-- @module narthex.header

local ngx = ngx
local affinity_cookie = require("narthex.affinity_cookie")
local context = require("narthex.context")

local M = {}

local hsts, hide_server = false, true

--- Takes the global settings. Phase: init.
-- @tparam table config from `narthex.config`
function M.setup(config)
  hsts, hide_server = config.hsts, config.hide_server
end

--- Marks a redirect that NGINX would have sent before any location is entered: it has no HSTS header. Phase: rewrite.
function M.before_location()
  ngx.ctx.narthex_before_location = true
end

--- Clears `Server`, sets the cookie of affinity, and `Strict-Transport-Security` on TLS connections. Phase: header_filter.
function M.filter()
  local state = context.get(ngx.var)
  if state and state.affinity then
    affinity_cookie.set(ngx.var, state.affinity)
  end
  if hide_server then
    ngx.header["Server"] = nil
  end
  if hsts and ngx.var.https == "on" then
    if ngx.status == 301 and ngx.ctx.narthex_before_location then
      return
    end
    ngx.header["Strict-Transport-Security"] = hsts
  end
end

return M
