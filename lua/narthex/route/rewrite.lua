--- `rewrite-target`: what `rewrite "(?i)<regex>" <replacement> break` does, replacement's arguments and redirects included.
-- @module narthex.route.rewrite

local ngx = ngx
local expand = require("narthex.request.expand")
local reason = require("narthex.request.reason")

local byte = string.byte
local char = string.char
local find = string.find
local format = string.format
local gsub = string.gsub
local sub = string.sub
local re_match = ngx.re.match
local set_uri = ngx.req.set_uri
local set_uri_args = ngx.req.set_uri_args

local M = {}

--- Compiles a rule.
-- Phase: any.
-- @tparam string regex unanchored, case-insensitive
-- @tparam string replacement
-- @treturn table|nil the rule
-- @treturn nil|string why the regex is unusable
function M.compile(regex, replacement)
  local _, err = re_match("", regex, "ijo")
  if err then
    return nil, err
  end
  local rule = { regex = regex, add_args = true }
  rule.redirect = find(replacement, "^https?://") ~= nil or sub(replacement, 1, 7) == "$scheme"
  if sub(replacement, -1) == "?" then
    -- The last "?" drops the original arguments.
    replacement, rule.add_args = sub(replacement, 1, -2), false
  end
  local mark = find(replacement, "?", 1, true)
  if mark then
    rule.args = expand.compile(sub(replacement, mark + 1))
    replacement = sub(replacement, 1, mark - 1)
  end
  rule.uri = expand.compile(replacement)
  return rule
end

local function hex(one)
  return format("%%%02X", byte(one))
end

local function escape_args(text)
  return (gsub(text, '[%z\1-\32"#%%&+<>?\\^`{|}\127-\255]', hex))
end

local function printable(digits)
  local code = tonumber(digits, 16)
  return code > 0x25 and code < 0x7f and char(code) or nil
end

--- NGINX undoes the escaping of printable characters up to the first `?`, an escaped one included.
local function unescape_redirect(text)
  local mark = find(text, "?", 1, true) or #text
  local _, escaped = find(text, "%%3[Ff]")
  local stop = escaped and escaped < mark and escaped or mark
  return gsub(sub(text, 1, stop), "%%(%x%x)", printable) .. sub(text, stop + 1)
end

--- NGINX escapes captures only if the request's path had escapes itself.
local function is_quoted(var)
  local target = var.request_uri
  local path_end = find(target, "?", 1, true)
  local at = find(target, "[%%+]")
  return at and (not path_end or at < path_end)
end

--- Whether a path has segments `.` or `..`. That of a request has none, NGINX has resolved them; a capture can make some
-- (`/api../x` of `/api(.*)` and `/$1`), and the backend would resolve them to a path that the rule is not for.
local function has_dot_segments(path)
  return find(path, ".", 1, true) and find("/" .. path .. "/", "/%.%.?/")
end

--- Ends the request: it can't be rewritten.
local function fail(var, status)
  reason.set(var, reason.WORDS.REWRITE_FAILED)
  return ngx.exit(status)
end

local function redirect(rule, var, uri, args)
  if args then
    uri = uri .. "?" .. args
  end
  local given = var.args
  if rule.add_args and given and given ~= "" then
    uri = uri .. (args and "&" or "?") .. given
  end
  reason.note(var, reason.WORDS.REDIRECT_REWRITE)
  return ngx.redirect(uri, ngx.HTTP_MOVED_TEMPORARILY)
end

--- Rewrites the request's URI if the rule's regex matches it.
-- Does not return when the rule redirects or the request is answered with 400 or 500.
-- Phase: rewrite.
-- @tparam table rule from `compile`
-- @tparam table var `ngx.var`
-- @tparam string uri the normalised one
-- @tparam boolean log whether what happens is logged
-- @treturn ?table the captures; nil if the regex does not match
function M.apply(rule, var, uri, log)
  local captures, err = re_match(uri, rule.regex, "ijo")
  if not captures then
    if err then
      ngx.log(ngx.ERR, "rewrite with ", rule.regex, ": ", err)
      return fail(var, ngx.HTTP_INTERNAL_SERVER_ERROR)
    end
    if log then
      ngx.log(ngx.NOTICE, '"', rule.regex, '" does not match "', uri, '"')
    end
    return
  end
  local quoted = is_quoted(var)
  local target = expand.eval(rule.uri, var, captures, quoted and rule.redirect and escape_args or nil)
  local args = rule.args and expand.eval(rule.args, var, captures, quoted and escape_args or nil)
  if log then
    ngx.log(ngx.NOTICE, '"', rule.regex, '" matches "', uri, '", rewritten data: "', target, '", args: "', args or "", '"')
  end
  if rule.redirect then
    return redirect(rule, var, unescape_redirect(target), args)
  end
  if target == "" then
    ngx.log(ngx.ERR, "the rewritten URI has a zero length")
    return fail(var, ngx.HTTP_INTERNAL_SERVER_ERROR)
  end
  if has_dot_segments(target) then
    ngx.log(ngx.INFO, 'the rewritten path "', target, '" has dot segments')
    return fail(var, ngx.HTTP_BAD_REQUEST)
  end
  if args then
    local given = var.args
    set_uri_args(rule.add_args and given and given ~= "" and args .. "&" .. given or args)
  elseif not rule.add_args then
    set_uri_args("")
  end
  set_uri(target, false, true)
  return captures
end

return M
