--- Redirects to paths of the same host, in the form that NGINX gives its own.
-- @module narthex.request.own_host

local ngx = ngx

local byte = string.byte
local type = type

local SLASH = byte("/")

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

--- Gives a redirect to a path that `proxy_redirect` made of the backend's the form that the route asks for; NGINX would give it the global
-- one. A path that the backend sent stays a path, as NGINX leaves it. Phase: header_filter.
-- @tparam table var `ngx.var`
-- @tparam table rules of the route, from `narthex.route.redirect`
function M.filter(var, rules)
  local path = ngx.header["Location"]
  if type(path) == "string" and byte(path) == SLASH and path ~= var.upstream_http_location then
    -- What Lua sets is not made absolute again.
    ngx.header["Location"] = rules.relative and path or M.url(var, path, rules.use_port)
  end
end

return M
