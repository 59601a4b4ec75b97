--- Redirects: of annotations, to the path with a slash, and to HTTPS.
-- @module narthex.route.redirect

local ngx = ngx
local header = require("narthex.request.header")
local own_host = require("narthex.request.own_host")
local reason = require("narthex.request.reason")

local byte = string.byte
local find = string.find
local format = string.format
local gsub = string.gsub
local sub = string.sub

local SLASH = byte("/")

local WORDS = reason.WORDS

local M = {}

--- Statuses that send clients somewhere. With others a URL is the body.
local MOVED = { [301] = true, [302] = true, [303] = true, [307] = true, [308] = true }

local code, https_port = 308, 443
local globals = { code = 308, relative = false, use_port = false }

--- Takes the global settings. Phase: init.
-- @tparam table config from `narthex.config`
function M.setup(config)
  code, https_port = config.http_redirect_code, config.https_port
  globals = { code = code, relative = config.relative_redirects, use_port = config.use_port_in_redirects }
end

--- Compiles what a route says about redirects. Phase: any.
-- @tparam ?table given `redirects` of the decoded policy
-- @treturn ?table what the other functions take as `rules`; nil: the global settings hold
function M.compile(given)
  if not given then
    return nil
  end
  local answer = given.answer
  local use_port = given.use_port_in_redirects
  if use_port == nil then
    use_port = globals.use_port
  end
  local relative = given.relative_redirects or globals.relative
  return {
    code = given.http_redirect_code or code,
    status = answer and answer[1],
    url = answer and answer[2],
    relative = relative,
    use_port = use_port,
    has_own_form = relative ~= globals.relative or use_port ~= globals.use_port,
  }
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

--- To a path of the same host, as NGINX names it in its own redirects. Does not return.
local function to_path(var, rules, path, status)
  if rules.relative then
    -- NGINX would make an absolute one of what `ngx.redirect` gets.
    ngx.header["Location"] = path
    return ngx.exit(status)
  end
  return ngx.redirect(own_host.url(var, path, rules.use_port), status)
end

--- 301 to the same path with `/` appended, as NGINX redirects for a prefix location. Does not return.
-- Phase: rewrite.
-- @tparam table var `ngx.var`
-- @tparam string uri decoded and normalised
-- @tparam ?table rules from `compile`
function M.add_slash(var, uri, rules)
  local path = escape(uri) .. "/"
  local args = var.args
  if args and args ~= "" then
    path = path .. "?" .. args
  end
  reason.note(var, WORDS.REDIRECT_SLASH)
  header.before_location()
  return to_path(var, rules or globals, path, ngx.HTTP_MOVED_PERMANENTLY)
end

--- The URL as the body of an answer with a status that is no redirect.
local function tell(status, url)
  ngx.status = status
  ngx.header.content_length = #url
  ngx.print(url)
  return ngx.exit(ngx.HTTP_OK)
end

--- The answer of `permanent-redirect` or `temporal-redirect`. Does not return.
-- Phase: rewrite.
-- @tparam table var `ngx.var`
-- @tparam table rules from `compile`, with a `status`
function M.answer(var, rules)
  local status, url = rules.status, rules.url
  reason.note(var, WORDS.REDIRECT)
  if not MOVED[status] then
    return tell(status, url)
  elseif byte(url) == SLASH then
    return to_path(var, rules, url, status)
  end
  return ngx.redirect(url, status)
end

--- 302 from `/` to the path of `app-root`, with the connection's scheme and the host as it was sent. Does not return.
-- Phase: rewrite.
-- @tparam table var `ngx.var`
-- @tparam string path
function M.to_app_root(var, path)
  reason.note(var, WORDS.REDIRECT_APP_ROOT)
  header.before_location()
  return ngx.redirect(var.scheme .. "://" .. (var.http_host or "") .. path, ngx.HTTP_MOVED_TEMPORARILY)
end

--- The raw request target, without one `/` at its end unless that is kept.
local function raw_target(var, keep_slash)
  local target = var.request_uri
  if not keep_slash and byte(target, -1) == SLASH then
    return sub(target, 1, -2)
  end
  return target
end

--- To another name of the same site, with scheme and port as the client sees them. Does not return.
-- Phase: rewrite.
-- @tparam table var `ngx.var`
-- @tparam string host
function M.to_host(var, host)
  reason.note(var, WORDS.REDIRECT_WWW)
  header.before_location()
  return ngx.redirect(var.pass_access_scheme .. "://" .. host .. ":" .. var.pass_port .. raw_target(var), code)
end

--- To HTTPS on the host that was asked for, with the raw request target. Does not return.
-- Phase: rewrite.
-- @tparam table var `ngx.var`
-- @tparam boolean keep_slash else one trailing `/` is cut
-- @tparam ?table rules from `compile`
function M.to_https(var, keep_slash, rules)
  local host = gsub(var.best_http_host, ":%d*$", "")
  rules = rules or globals
  reason.note(var, WORDS.REDIRECT_HTTPS)
  if rules.use_port then
    host = host .. ":" .. format("%d", https_port)
  end
  return ngx.redirect("https://" .. host .. raw_target(var, keep_slash), rules.code)
end

return M
