--- Phase entry: response headers (`header_filter_by_lua`).
-- @module narthex.header

local ngx = ngx
local affinity_cookie = require("narthex.affinity_cookie")
local context = require("narthex.context")
local response = require("narthex.response")

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

local function is_before_location()
  local status = ngx.status
  return status > 300 and status < 309 and ngx.ctx.narthex_before_location
end

--- Clears `Server`, sets `Strict-Transport-Security` on TLS connections, and then what the route asks for. Phase: header_filter.
function M.filter()
  local var = ngx.var
  if hide_server then
    ngx.header["Server"] = nil
  end
  if hsts and var.https == "on" and not is_before_location() then
    ngx.header["Strict-Transport-Security"] = hsts
  end
  local state = context.get(var)
  if state then
    if state.affinity then
      affinity_cookie.set(var, state.affinity)
    end
    response.filter(state)
  end
end

return M
