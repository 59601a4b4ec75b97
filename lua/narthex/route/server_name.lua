--- The host of the rule, as `$server_name` is where each host has a server block of its own: one block serves all here.
-- @module narthex.route.server_name

local ngx = ngx
local expand = require("narthex.request.expand")
local host = require("narthex.route.host")
local store = require("narthex.state.store")

--- `in_use`: whether this worker has been asked.
local M = { in_use = false }

--- The host of a request's rule: of another name the host that it stands for, of a wildcard host the pattern that NGINX has for it.
-- Phase: any with `ngx.shared`.
-- @tparam table var `ngx.var`
-- @treturn string `_` for hosts that no rule has
function M.of(var)
  return host.find(var.host, store.revision()).server_name
end

expand.define("server_name", M.of)

--- The same. Phase: set.
-- @treturn string
function M.get()
  M.in_use = true
  return M.of(ngx.var)
end

--- For the log, of a request that ended before the directives of the server. Phase: log.
-- @tparam table var `ngx.var`
function M.fill(var)
  if var.narthex_server_name == "" then
    var.narthex_server_name = M.of(var)
  end
end

return M
