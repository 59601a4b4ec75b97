--- A request that comes to the search for its route a second time: an answer of a backend sent it there (`X-Accel-Redirect`), or a
-- snippet. What the first route said is taken back.
-- @module narthex.request.again

local ngx = ngx
local context = require("narthex.request.context")

local pairs = pairs

local M = {}

--- What Lua says about a route, and what holds where it says nothing.
local EMPTY = {
  "namespace", "ingress_name", "service_name", "service_port", "location_path", "proxy_alternative_upstream_name", "narthex_timeouts",
  "narthex_code", "narthex_error_backend", "narthex_missing", "narthex_mirror_target", "narthex_mirror_host", "narthex_passes_certificate",
  "auth_keepalive_share_vars",
}
--- What outlives the route: the whole request has it.
local KEPT = { "connection", "span", "has_page" }

--- Takes back what the first route said. Phase: rewrite.
-- @tparam table var `ngx.var`
function M.begin(var)
  for i = 1, #EMPTY do
    var[EMPTY[i]] = ""
  end
  var.proxy_upstream_name, var.balancer_ewma_score, var.narthex_reason = "-", "-1", "-"
  var.narthex_vhost, var.narthex_log = var.best_http_host, "1"
  local state = context.get(var)
  if not state then
    return
  end
  for name, value in pairs(state.replaced or {}) do
    var[name] = value
  end
  if state.credentials then
    ngx.req.set_header("Authorization", state.credentials)
  end
  local kept = {}
  for i = 1, #KEPT do
    kept[KEPT[i]] = state[KEPT[i]]
  end
  for name in pairs(state) do
    state[name] = kept[name]
  end
end

return M
