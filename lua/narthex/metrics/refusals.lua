--- Lines of the error log about requests that Narthex answers with an error of its own: at most one a minute for each route and reason.
--
-- Each worker has its own minute. In it a namespace has `MOST_OF_ONE` lines at most, and all together have `MOST` besides the first of
-- each: so neither a tenant nor all of them fill the log, and the flood of one hides no other. What is left out is counted, and the next
-- line of the namespace with that reason says how many there were.
--
-- What clients wrote stands at the end, in quotes and ASCII, so that they can't make up a field or a line.
-- @module narthex.metrics.refusals

local ngx = ngx
local errlog = require("ngx.errlog")
local lrucache = require("resty.lrucache")

local byte = string.byte
local concat = table.concat
local floor = math.floor
local format = string.format
local gsub = string.gsub
local match = string.match
local setmetatable = setmetatable
local sub = string.sub

--- Seconds of a window.
local INTERVAL = 60
--- Lines of a namespace, and of all, in a window.
local MOST_OF_ONE, MOST = 10, 300
--- Namespaces that are distinguished, and as many first lines.
local NAMESPACES = 1024
--- Bytes of what a client wrote, so that a line fits into the 2048 bytes that NGINX has for it.
local LONGEST_PATH, LONGEST_HOST, LONGEST_ID = 160, 64, 48

local M = {}

local shares = assert(lrucache.new(NAMESPACES))
--- The window of the last line, and the lines in it.
local current, lines, firsts = 0, 0, 0
--- Of tables by route: one that is replaced is not kept for them.
local WEAK = { __mode = "k" }
--- Stands for the route of requests without one.
local NO_ROUTE = {}

--- What a namespace has in this window. A host without a rule for the request has a share of its own, and so has what belongs to no host.
local function share_of(route, window)
  local owner = route.namespace or route.host or ""
  local share = shares:get(owner)
  if not share then
    share = { window = window, lines = 0, said = setmetatable({}, WEAK), left = {}, since = {} }
    shares:set(owner, share)
  elseif share.window ~= window then
    share.window, share.lines, share.said = window, 0, setmetatable({}, WEAK)
  end
  return share
end

--- Takes a line, if there is one left.
local function take(share, route, word, window)
  local said = share.said[route]
  if said and said[word] or share.lines >= MOST_OF_ONE then
    return false
  end
  if window ~= current then
    current, lines, firsts = window, 0, 0
  end
  if share.lines == 0 and firsts < NAMESPACES then
    firsts = firsts + 1
  elseif lines < MOST then
    lines = lines + 1
  else
    return false
  end
  share.lines = share.lines + 1
  if not said then
    said = {}
    share.said[route] = said
  end
  said[word] = true
  return true
end

local function hex(one)
  return format("\\x%02X", byte(one))
end

--- A text in quotes, as the access log escapes it: printable ASCII, all else as `\xHH`.
local function quote(text, longest)
  text = text or ""
  if #text > longest then
    text = sub(text, 1, longest) .. "..."
  end
  return '"' .. gsub(text, "[^ !#-[%]^-~]", hex) .. '"'
end

--- The line.
local function describe(var, route, status, word, left, seconds)
  local parts = { format("narthex: answered status=%d reason=%s", status, word) }
  local function add(name, text, longest)
    if text and text ~= "" then
      parts[#parts + 1] = name .. "=" .. quote(text, longest)
    end
  end
  add("ingress", route.ingress and (route.namespace or "") .. "/" .. route.ingress, 320)
  add("service", route.service and route.service .. ":" .. (route.port or ""), 128)
  if left then
    parts[#parts + 1] = format("left_out=%d seconds=%d", left, seconds)
  end
  add("trace_id", match(var.http_traceparent or "", "^%x%x%-(%x+)%-"), 32)
  add("request_id", var.req_id, LONGEST_ID)
  add("host", var.host, LONGEST_HOST)
  add("path", match(var.request_uri or "", "^[^?]*"), LONGEST_PATH)
  return concat(parts, " ")
end

--- Counts a refused request, and logs it where a line is due. Phase: any with a request.
-- @tparam table var `ngx.var`
-- @tparam ?table route
-- @tparam number status of the answer
-- @tparam string word why, of a closed list
-- @tparam number time seconds
function M.count(var, route, status, word, time)
  route = route or NO_ROUTE
  local window = floor(time / INTERVAL)
  local share = share_of(route, window)
  local left = share.left[word]
  if not take(share, route, word, window) then
    if not left then
      share.since[word] = time
    end
    share.left[word] = (left or 0) + 1
    return
  end
  local seconds = left and time - share.since[word]
  share.left[word], share.since[word] = nil, nil
  local text = describe(var, route, status, word, left, seconds and seconds > 0 and floor(seconds + 0.5) or 0)
  errlog.raw_log(status >= 500 and ngx.WARN or ngx.NOTICE, text)
end

return M
