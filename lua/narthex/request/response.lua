--- Headers of the answers of a route: `custom-headers` and CORS. Chosen where the route is found, set where the answer is sent.
-- @module narthex.request.response

local ngx = ngx
local context = require("narthex.request.context")
local cors = require("narthex.request.cors")
local reason = require("narthex.request.reason")

local exit = ngx.exit
local type = type

local M = {}

--- Compiles what a route sets.
-- Phase: any.
-- @tparam table given the decoded policy
-- @treturn ?table nil if it sets nothing
function M.compile(given)
  if given.denied or not (given.custom_headers or given.cors) then
    return nil
  end
  return { headers = given.custom_headers, cors = given.cors and cors.compile(given.cors) }
end

--- Remembers the headers for this request, whatever answers it. Phase: rewrite.
-- @tparam table var `ngx.var`
-- @tparam table response from `compile`
function M.begin(var, response)
  context.open(var).headers = response.headers
end

--- Decides about CORS, and answers a preflight request: then it does not return. Phase: rewrite.
-- @tparam table var `ngx.var`
-- @tparam table response from `compile`
function M.share(var, response)
  local rules = response.cors
  local state = context.open(var)
  state.vary = not rules.any
  local origin = cors.origin(rules, var.http_origin)
  if origin then
    state.origin, state.cors = origin, rules.headers
    if var.request_method == "OPTIONS" then
      reason.note(var, reason.WORDS.PREFLIGHT)
      return exit(ngx.HTTP_NO_CONTENT)
    end
  end
end

local function put(list)
  local header = ngx.header
  for i = 1, #list do
    header[list[i][1]] = list[i][2]
  end
end

--- The answer differs by `Origin`; what the backend says it differs by stays.
local function vary()
  local given = ngx.header["Vary"]
  if type(given) == "table" then
    given[#given + 1] = "Origin"
  elseif given then
    given = { given, "Origin" }
  end
  ngx.header["Vary"] = given or "Origin"
end

--- Sets the headers. Those of the same name that the backend set are replaced. Phase: header_filter.
-- @tparam table state of the request, from `narthex.request.context`
function M.filter(state)
  if state.vary then
    vary()
  end
  if state.origin then
    ngx.header["Access-Control-Allow-Origin"] = state.origin
    put(state.cors)
  end
  if state.headers then
    put(state.headers)
  end
end

return M
