--- The requests of single hosts for a reader at a terminal (`narthex logs`), whatever the access log says.
--
-- A reader asks over the control socket again and again, for lines behind the last one that it has. As long as it does, each worker
-- writes a line for each request of the host into a shared dictionary: a ring of `MOST` lines, which any number of readers share. Nothing
-- is evicted for it, and it is gone some seconds after the last reader.
--
-- Without readers a request pays for one test: whether there is one, workers look up only when the live state has another revision, which
-- the first reader gives it.
-- @module narthex.metrics.tap

local ngx = ngx
local cjson = require("cjson.safe")
local dictionaries = require("narthex.state.dictionaries")
local reason = require("narthex.request.reason")

local find = string.find
local floor = math.floor
local gsub = string.gsub
local match = string.match
local max = math.max
local sub = string.sub
local tonumber = tonumber

--- `in_use`: whether there may be a reader.
local M = { in_use = false }

local dict = dictionaries.get("otel_spans")
local state = dictionaries.get("configuration_data")

--- Seconds that a reader may be silent.
local PATIENCE = 10
--- Lines of one host that wait.
local MOST = 1000
--- The longest part of a text of the client.
local LONGEST = 512
--- There is a reader.
local ANY = "tap"
--- Every host.
local ALL = "*"

local function counter(name)
  return "tap:" .. name
end

local function line(name, number)
  return "tap:" .. name .. "\n" .. number % MOST
end

--- Looks whether there is a reader. Phase: any.
function M.look()
  M.in_use = dict:get(ANY) ~= nil
  reason.show(M.in_use)
end

--- The number of the next line for a reader of this name.
local function next_number(name)
  return (dict:incr(counter(name), 1))
end

--- JSON is UTF-8, requests need not be.
local function text(value)
  return value and value ~= "" and gsub(sub(value, 1, LONGEST), "[\128-\255]", "?") or nil
end

local function describe(var)
  local ingress = var.ingress_name
  return cjson.encode({
    at = floor(ngx.now() * 1000 + 0.5) / 1000,
    host = text(var.host),
    client = var.remote_addr,
    method = text(var.request_method),
    target = text(var.request_uri),
    protocol = text(var.server_protocol),
    status = ngx.status,
    reason = reason.of(var),
    bytes = tonumber(var.bytes_sent),
    seconds = max(floor((ngx.now() - ngx.req.start_time()) * 1000 + 0.5), 0) / 1000,
    referer = text(var.http_referer),
    user_agent = text(var.http_user_agent),
    request_id = text(var.req_id),
    trace_id = match(var.http_traceparent or "", "^%x%x%-(%x+)%-%x+%-%x%x"),
    ingress = ingress and ingress ~= "" and (var.namespace or "") .. "/" .. ingress or nil,
    backend = text(var.narthex_backend),
    upstream = text(var.upstream_addr),
    upstream_status = text(var.upstream_status),
    upstream_seconds = text(var.upstream_response_time),
  })
end

local function keep(name, encoded)
  local number = next_number(name)
  if number then
    -- Without room it is lost: a reader sees that its number is missing.
    dict:safe_set(line(name, number), number .. "\n" .. encoded, PATIENCE)
  end
end

--- Writes a line if a reader wants it. Phase: log.
-- @tparam table var `ngx.var`
function M.write(var)
  if not dict:get(ANY) then
    M.in_use = false
    reason.show(false)
    return
  end
  local host = var.host
  local encoded
  for _, name in ipairs({ host, match(host, "^[^.]+(%..+)$") or "", ALL }) do
    name = find(name, "^%.") and "*" .. name or name
    if name ~= "" and dict:get(counter(name)) then
      encoded = encoded or describe(var)
      if encoded then
        keep(name, encoded)
      end
    end
  end
end

--- Says that there is a reader, and begins with the next request if it is the first one.
local function begin(name)
  local ok, err = dict:safe_set(ANY, true, PATIENCE)
  if ok then
    -- A number that no earlier reader has seen.
    ok, err = dict:safe_add(counter(name), floor(ngx.now() * 1000), PATIENCE)
  end
  if ok then
    state:incr("rev", 1)
  elseif err == "exists" then
    ok = dict:expire(counter(name), PATIENCE)
  end
  return ok, err
end

--- The lines behind a number. Phase: content.
-- @tparam string name of the host: `a.test`, `*.a.test`, or `*` for all
-- @tparam ?number after the number of the last line that the reader has; nil: it begins
-- @treturn ?string a line with the number of the last line and how many are lost, then the lines as JSON texts; nil if there is no room
-- @treturn ?string why
function M.take(name, after)
  local ok, err = begin(name)
  local last = ok and dict:get(counter(name))
  if not last then
    return nil, err or "it is gone again"
  end
  -- Numbers of another NGINX, or of before a pause.
  if not after or after > last then
    after = last
  end
  local lines = { "" }
  for number = max(after, last - MOST) + 1, last do
    local kept = dict:get(line(name, number))
    local its, encoded = match(kept or "", "^(%d+)\n(.*)$")
    if tonumber(its) == number then
      lines[#lines + 1] = encoded
    end
  end
  lines[1] = ("%.0f %.0f"):format(last, last - after - (#lines - 1))
  lines[#lines + 1] = ""
  return table.concat(lines, "\n")
end

return M
