--- Variables that say which route serves a request, for logs, headers and snippets.
--
-- To set one costs more than to choose an endpoint, and most configurations read one of them. So a worker sets those that something reads:
-- the text of the configuration, a record, or a module. They are empty before, so a route of no Ingress costs nothing either.
-- @module narthex.route.identity

local pairs = pairs

local M = {}

--- Each with the field of a route that it holds.
local FIELDS = {
  namespace = "namespace", ingress_name = "ingress", service_name = "service", service_port = "port", location_path = "path",
}

--- By name, and whether there is one.
local wanted, any = {}, false

--- Has a variable set from now on. Phase: any, before the requests that read it are routed.
-- @tparam string name; one that is not about routes is ignored
function M.want(name)
  if FIELDS[name] then
    wanted[name], any = true, true
  end
end

--- The same for all of them.
function M.want_all()
  for name in pairs(FIELDS) do
    M.want(name)
  end
end
jit.off(M.want_all)

--- Takes the global settings. Phase: init.
-- @tparam table config from `narthex.config`
function M.setup(config)
  if not config.route_variables then
    return M.want_all()
  end
  for i = 1, #config.route_variables do
    M.want(config.route_variables[i])
  end
end

--- Sets the variables. Without a loop, as that of a request's way should be.
-- Phase: rewrite.
-- @tparam table var `ngx.var`
-- @tparam table route see `narthex.route.fields`
function M.set(var, route)
  if not any then
    return
  end
  if route.namespace then
    -- What a route of an Ingress does not have is unset, which logs show as "-".
    if wanted.namespace then
      var.namespace = route.namespace
    end
    if wanted.ingress_name then
      var.ingress_name = route.ingress
    end
    if wanted.service_name then
      var.service_name = route.service
    end
    if wanted.service_port then
      var.service_port = route.port
    end
  end
  if wanted.location_path and route.path then
    var.location_path = route.path
  end
end

return M
