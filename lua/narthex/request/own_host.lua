--- Redirects to paths of the same host, in the form that NGINX gives its own.
-- @module narthex.request.own_host

local ngx = ngx

local byte = string.byte
local find = string.find
local sub = string.sub
local type = type

local SLASH = byte("/")
--- Before a path that `proxy_redirect` made.
local MARK = "narthex-path:"

local M = {}

--- What the client connected to: behind the stream block, where there is no port, what the PROXY protocol says.
local function own(var, what)
  return var.server_port == "" and var["proxy_protocol_server_" .. what] or var["server_" .. what]
end

--- Host and, where it is wanted and not the usual one, port.
local function authority(var, use_port)
  local host = var.host
  if host == "_" then
    -- A request without a host.
    host = own(var, "addr")
  end
  if use_port then
    local port = own(var, "port")
    if port ~= (var.scheme == "https" and "443" or "80") then
      return host .. ":" .. port
    end
  end
  return host
end

--- The URL of a path. Phase: any of a request.
-- @tparam table var `ngx.var`
-- @tparam string path
-- @tparam boolean use_port
-- @treturn string
function M.url(var, path, use_port)
  return var.scheme .. "://" .. authority(var, use_port) .. path
end

--- Marks what `proxy_redirect` puts in the place of a path's beginning, where that is a path as well: NGINX would make an absolute URL
-- of it with the global settings, and may change the backend's header in place, so that neither value says what happened. Phase: rewrite.
-- @tparam table var `ngx.var`
function M.mark(var)
  local to = var.narthex_location_to
  if to and byte(to) == SLASH then
    var.narthex_location_to = MARK .. to
  end
end

--- Gives a redirect to a path that `proxy_redirect` made of the backend's the form that the route asks for. A path that the backend sent
-- stays a path, as NGINX leaves it. Phase: header_filter.
-- @tparam table var `ngx.var`
-- @tparam table rules of the route, from `narthex.route.redirect`
function M.filter(var, rules)
  local location = ngx.header["Location"]
  if type(location) == "string" and sub(location, 1, #MARK) == MARK then
    local path = sub(location, #MARK + 1)
    -- What Lua sets is not made absolute again.
    ngx.header["Location"] = rules.relative and path or M.url(var, path, rules.use_port)
  end
  local refresh = ngx.header["Refresh"]
  if type(refresh) == "string" then
    local from, to = find(refresh, MARK, 1, true)
    if from then
      ngx.header["Refresh"] = sub(refresh, 1, from - 1) .. sub(refresh, to + 1)
    end
  end
end

return M
