--- Phase entry: response headers (`header_filter_by_lua`).
-- @module narthex.request.header

local ngx = ngx
local affinity_cookie = require("narthex.balance.affinity_cookie")
local context = require("narthex.request.context")
local expand = require("narthex.request.expand")
local external_auth = require("narthex.auth.external")
local own_host = require("narthex.request.own_host")
local reason = require("narthex.request.reason")
local response = require("narthex.request.response")

local M = {}

local alt_svc, hsts, hide_server = false, false, true
--- Headers of every answer: pairs of name and compiled value; false: none.
local added = false
--- Whether answers say why no endpoint has made them.
local says_reason = false

--- Takes the global settings. Phase: init.
-- @tparam table config from `narthex.config`
function M.setup(config)
  alt_svc, hsts, hide_server = config.alt_svc, config.hsts, config.hide_server
  added, says_reason = #config.add_headers > 0 and {}, config.reason_header
  for i, header in ipairs(config.add_headers) do
    added[i] = { header[1], expand.compile(header[2]) }
  end
end

--- Marks a redirect that NGINX would have sent before any location is entered: it has no HSTS header. Phase: rewrite.
function M.before_location()
  ngx.ctx.narthex_before_location = true
end

local function add(var)
  local header = ngx.header
  for i = 1, #added do
    header[added[i][1]] = expand.eval(added[i][2], var)
  end
end

local function is_before_location()
  local status = ngx.status
  return status > 300 and status < 309 and ngx.ctx.narthex_before_location
end

--- Clears `Server`; on TLS connections names HTTP/3 (a backend's own `Alt-Svc` is about the backend's port) and sets
-- `Strict-Transport-Security` (not where the backend for errors answers: what it says about HTTPS stays); then what the ConfigMap asks for,
-- then the cookie of affinity and what the route asks for. At last the reason of an answer that no endpoint has made; what an endpoint or
-- the route says in its place is removed. Phase: header_filter.
function M.filter()
  local var = ngx.var
  if hide_server then
    ngx.header["Server"] = nil
  end
  local state = context.get(var)
  if alt_svc and var.https == "on" then
    ngx.header["Alt-Svc"] = alt_svc
  end
  if hsts and var.https == "on" and not is_before_location() and not (state and state.is_error_page) then
    ngx.header["Strict-Transport-Security"] = hsts
  end
  if added then
    add(var)
  end
  if state then
    if state.auth then
      external_auth.add_cookies(state.auth)
    end
    if state.affinity then
      affinity_cookie.set(var, state.affinity)
    end
    if state.redirects then
      own_host.filter(var, state.redirects)
    end
    response.filter(state)
  end
  if says_reason then
    ngx.header[reason.HEADER] = reason.of(var)
  end
end

return M
