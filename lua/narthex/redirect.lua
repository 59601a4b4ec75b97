--- Redirects that are not a rule's: to the path with a slash, and to HTTPS.
-- @module narthex.redirect

local ngx = ngx
local header = require("narthex.header")

local byte = string.byte
local find = string.find
local format = string.format
local gsub = string.gsub
local sub = string.sub

local SLASH = byte("/")

local M = {}

local code, use_port, https_port = 308, false, 443

--- Takes the global settings. Phase: init.
-- @tparam table config from `narthex.config`
function M.setup(config)
  code, use_port, https_port = config.redirect_code, config.use_port_in_redirects, config.https_port
end

local function hex(one)
  return format("%%%02X", byte(one))
end

--- The bytes that NGINX escapes in a redirect of its own.
local function escape(uri)
  if find(uri, '[^%w%-._~!$&\'()*+,;=:@/]') then
    return (gsub(uri, '[%z\1-\32"#%%<>?\\^`{|}\127-\255]', hex))
  end
  return uri
end

local function authority(var)
  local host = var.host
  if host == "_" then
    -- A request without a host.
    host = var.server_addr
  end
  if use_port then
    local port = var.server_port
    if port ~= (var.scheme == "https" and "443" or "80") then
      return host .. ":" .. port
    end
  end
  return host
end

--- 301 to the same path with `/` appended, as NGINX redirects for a prefix location. Does not return.
-- Phase: rewrite.
-- @tparam table var `ngx.var`
-- @tparam string uri decoded and normalised
function M.add_slash(var, uri)
  local target = var.scheme .. "://" .. authority(var) .. escape(uri) .. "/"
  local args = var.args
  if args and args ~= "" then
    target = target .. "?" .. args
  end
  header.before_location()
  return ngx.redirect(target, ngx.HTTP_MOVED_PERMANENTLY)
end

--- To HTTPS on the host that was asked for, with the raw request target. Does not return.
-- Phase: rewrite.
-- @tparam table var `ngx.var`
-- @tparam boolean keep_slash else one trailing `/` is cut
function M.to_https(var, keep_slash)
  local target = var.request_uri
  if not keep_slash and byte(target, -1) == SLASH then
    target = sub(target, 1, -2)
  end
  local host = gsub(var.best_http_host, ":%d*$", "")
  if use_port then
    host = host .. ":" .. format("%d", https_port)
  end
  return ngx.redirect("https://" .. host .. target, code)
end

return M
