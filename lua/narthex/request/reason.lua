--- Why Narthex or NGINX answers a request themselves: a word of a closed list (`docs/logs.md`), for logs, for a header of the answer, and
-- for a line of the error log.
--
-- The word is a variable of the request, written where such an answer is decided. Requests that an endpoint answers pay nothing: until then
-- the variable is a constant. What NGINX decides without Lua is concluded from the status, where something reads the word.
-- @module narthex.request.reason

local ngx = ngx
local refusals = require("narthex.metrics.refusals")

local find = string.find
local now = ngx.now

--- `is_read`: whether something reads the word: a log, the header of answers, a reader at a terminal.
local M = { is_read = false }

--- The header of answers.
M.HEADER = "X-Narthex-Reason"

--- What the variable has where there is no word, as logs of NGINX show it.
local NONE = "-"

--- What Lua decides.
M.WORDS = {
  AUTH_SERVICE = "auth-service",
  AUTH_SERVICE_FAILED = "auth-service-failed",
  BODY_TOO_LARGE = "body-too-large",
  CLIENT_CERTIFICATE = "client-certificate",
  CONNECTION_LIMIT = "connection-limit",
  NO_ENDPOINTS = "no-endpoints",
  NO_ERROR_PAGE = "no-error-page",
  NO_HOST = "no-host",
  NO_PATH = "no-path",
  NO_SERVICE = "no-service",
  PASSWORD = "password",
  PASSWORD_BUSY = "password-busy",
  PATH_REGEX_FAILED = "path-regex-failed",
  PREFLIGHT = "preflight",
  PROTECTION_UNUSABLE = "protection-unusable",
  RATE_LIMIT = "rate-limit",
  REDIRECT = "redirect",
  REDIRECT_APP_ROOT = "redirect-app-root",
  REDIRECT_HTTPS = "redirect-https",
  REDIRECT_REWRITE = "redirect-rewrite",
  REDIRECT_SIGN_IN = "redirect-sign-in",
  REDIRECT_SLASH = "redirect-slash",
  REDIRECT_WWW = "redirect-www",
  RELOAD_PENDING = "reload-pending",
  REWRITE_FAILED = "rewrite-failed",
  SOURCE_ADDRESS = "source-address",
  STARTING = "starting",
}

--- What NGINX decides, by status; the rest is `OTHER`.
local BAD_REQUEST, OTHER = "bad-request", "nginx"
M.OF_NGINX = {
  [400] = BAD_REQUEST,
  [403] = "blocked",
  [408] = "client-timeout",
  [411] = BAD_REQUEST,
  [413] = M.WORDS.BODY_TOO_LARGE,
  [414] = BAD_REQUEST,
  [421] = BAD_REQUEST,
  [431] = BAD_REQUEST,
  [494] = BAD_REQUEST,
  [495] = M.WORDS.CLIENT_CERTIFICATE,
  [496] = M.WORDS.CLIENT_CERTIFICATE,
  [497] = BAD_REQUEST,
  [502] = "upstream-failed",
  [504] = "upstream-timeout",
  [505] = BAD_REQUEST,
}
M.OTHER = OTHER

--- The client has gone: there is no answer.
local CLIENT_CLOSED = 499

--- Whether refusals are logged, and whether something reads words whatever happens.
local logs, always_read = true, false

--- Takes the global settings. Phase: init.
-- @tparam table config from `narthex.config`
function M.setup(config)
  always_read, logs = config.reads_reason or config.reason_header, config.log_reasons
  M.is_read = always_read
end

--- Says whether requests are shown to a reader. Phase: any.
-- @tparam boolean on
function M.show(on)
  M.is_read = always_read or on
end

--- Sets the word. Phase: any before the answer.
-- @tparam table var `ngx.var`
-- @tparam string word of `WORDS`
function M.set(var, word)
  var.narthex_reason = word
end

--- The same for answers that are no errors, which can be most of those of a port: only where something reads it. Phase: rewrite.
-- @tparam table var `ngx.var`
-- @tparam string word of `WORDS`
function M.note(var, word)
  if M.is_read then
    var.narthex_reason = word
  end
end

--- Sets the word of an error, and logs it unless enough was logged of the like. Phase: any before the answer.
-- @tparam table var `ngx.var`
-- @tparam ?table route that the request has, as far as it is known
-- @tparam number status of the answer
-- @tparam string word of `WORDS`
function M.refuse(var, route, status, word)
  var.narthex_reason = word
  if logs then
    refusals.count(var, route, status, word, now())
  end
end

--- What a route lacks whose backend has no endpoint. Phase: any.
-- @tparam table route
-- @treturn string of `WORDS`
function M.missing(route)
  local words = M.WORDS
  if route.service then
    return words.NO_ENDPOINTS
  elseif route.path and route.path ~= "/" then
    return words.NO_SERVICE
  end
  -- A host has a route for `/` whatever its rules are.
  return route.host and words.NO_PATH or words.NO_HOST
end

--- What NGINX has decided, by the status: nothing where an endpoint or a cache has answered.
local function of_nginx(var, status)
  if status < 400 or status == CLIENT_CLOSED then
    return nil
  end
  -- Of each try the time until the header; without a header `-`.
  local header = var.upstream_header_time
  if header and header ~= "" and not find(header, "-", -1, true) then
    return nil
  end
  local cache = var.upstream_cache_status
  if cache and cache ~= "" then
    return nil
  end
  return M.OF_NGINX[status] or OTHER
end

--- The word. Phase: any from header_filter on.
-- @tparam table var `ngx.var`
-- @treturn ?string nil: an endpoint has answered, or the client was gone before
function M.of(var)
  local word = var.narthex_reason
  if word and word ~= NONE then
    return word
  end
  return of_nginx(var, ngx.status)
end

--- Sets the word of an error that NGINX hands over for a page, whose status is another one. Phase: rewrite, of the location for errors.
-- @tparam table var `ngx.var`
-- @tparam number status of the error
function M.keep(var, status)
  if var.narthex_reason == NONE then
    local word = of_nginx(var, status)
    if word then
      var.narthex_reason = word
    end
  end
end

--- Sets what NGINX has decided, for logs that read the variable. Phase: log.
-- @tparam table var `ngx.var`
function M.complete(var)
  local status = ngx.status
  if status >= 400 then
    M.keep(var, status)
  end
end

return M
