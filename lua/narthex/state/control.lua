--- The control server's answers, on a unix socket (`content_by_lua`): see `docs/live-protocol.md`.
-- @module narthex.state.control

local ngx = ngx
local batch = require("narthex.state.batch")
local cjson = require("cjson.safe")
local closing = require("narthex.state.closing")
local dictionaries = require("narthex.state.dictionaries")
local ffi = require("ffi")
local metrics_queue = require("narthex.metrics.queue")
local tables = require("narthex.state.tables")
local tap = require("narthex.metrics.tap")
local tracing = require("narthex.metrics.tracing")
local wire = require("narthex.state.wire")

local format = string.format

local MARKER_LENGTH = 64
--- "Misdirected Request".
local MISDIRECTED = 421

local M = {}

local state = dictionaries.get("configuration_data")
local revision, profiles, host_servers, master

ffi.cdef("int getppid(void);")

--- Takes the global settings. Phase: init.
-- @tparam table config from `narthex.config`
function M.setup(config)
  revision, profiles, host_servers = config.revision, config.profiles, config.host_servers
end

--- Notes of which master this worker is. Phase: init_worker.
function M.start()
  master = tostring(ffi.C.getppid())
end

local function say(status, text)
  ngx.status = status
  ngx.header.content_type = "text/plain"
  ngx.header.content_length = #text
  ngx.print(text)
end

local function say_state(status, extra)
  local dicts = {}
  for _, name in ipairs(tables.NAMES) do
    dicts[name] = dictionaries.describe(name)
  end
  local text = cjson.encode({
    revision = revision,
    generation = state:get("generation") or cjson.null,
    format = wire.FORMAT,
    rev = state:get("rev"),
    digest = format("%.0f", extra.digest or state:get("digest")),
    entries = extra.entries or state:get("entries"),
    pid = ngx.worker.pid(),
    worker = ngx.worker.id(),
    dicts = dicts,
    errors = extra.errors,
    profiles = extra.profiles,
    host_servers = extra.host_servers,
  })
  ngx.status = status
  ngx.header.content_type = "application/json"
  ngx.header.content_length = #text
  ngx.print(text)
end

local function read_body()
  ngx.req.read_body()
  local body = ngx.req.get_body_data()
  local path = not body and ngx.req.get_body_file()
  if path then
    local file, err = io.open(path, "rb")
    if not file then
      return nil, err
    end
    body = file:read("*a")
    file:close()
  end
  return body or ""
end

local function post_live()
  local body, err = read_body()
  if not body then
    return say(500, "request body: " .. err .. "\n")
  end
  local errors, malformed = batch.apply(body)
  if #errors == 0 then
    return say_state(200, {})
  end
  return say_state(malformed and 400 or 507, { errors = errors })
end

local function post_generation()
  local marker = read_body() or ""
  if marker == "" or #marker > MARKER_LENGTH then
    return say(400, "a marker has 1 to 64 characters\n")
  end
  local ok, err = state:safe_set("generation", marker)
  if not ok then
    return say(507, "generation: " .. err .. "\n")
  end
  return say_state(200, {})
end

local function post_closing()
  local by = tonumber(read_body())
  if by ~= 1 and by ~= -1 then
    return say(400, "1 or -1\n")
  end
  closing.count(by)
  -- The next configuration may leave out what the workers of before last have.
  metrics_queue.drain()
  tracing.drain()
  return say_state(200, {})
end

local function get_keys()
  local lines = {}
  tables.each(function(letter, key)
    lines[#lines + 1] = letter .. "\t" .. key .. "\n"
  end)
  return say(200, table.concat(lines))
end

local function get_audit()
  local digest, entries = tables.audit()
  return say_state(200, { digest = digest, entries = entries })
end

local function get_record()
  local args = ngx.req.get_uri_args()
  local letter, key = args.t, args.k
  local dict = type(letter) == "string" and tables.DICTS[letter]
  if not dict or type(key) ~= "string" then
    return say(400, "t: a table, and k: a key, are needed\n")
  end
  if tables.SECRET[letter] then
    return say(403, "private keys and passwords are not shown\n")
  end
  local value = dict:get(letter .. ":" .. key)
  if not value then
    return say(404, "no such record\n")
  end
  return say(200, value)
end

local MOST_SPANS = 4096

local function get_spans()
  local most = math.min(tonumber(ngx.var.arg_n) or MOST_SPANS, MOST_SPANS)
  local lines = tracing.take(most)
  lines[#lines + 1] = ""
  return say(200, table.concat(lines, "\n"))
end

local function get_requests()
  return say(200, metrics_queue.take(ngx.var.arg_done))
end

local function post_tap()
  local name, after = (read_body() or ""):match("^(%S+)\n(%d*)$")
  if not name or #name > 255 then
    return say(400, "a name, a line feed, and the number of the last line or nothing\n")
  end
  local text, err = tap.take(name, tonumber(after))
  return say(text and 200 or 507, text or err .. "\n")
end

local HANDLERS = {
  ["/live"] = { POST = post_live },
  ["/generation"] = { POST = post_generation },
  ["/closing"] = { POST = post_closing },
  ["/state"] = { GET = function() return say_state(200, { profiles = profiles, host_servers = host_servers }) end },
  ["/keys"] = { GET = get_keys },
  ["/audit"] = { GET = get_audit },
  ["/spans"] = { GET = get_spans },
  ["/requests"] = { GET = get_requests },
  ["/record"] = { GET = get_record },
  ["/tap"] = { POST = post_tap },
}

--- Answers a request to the control server. Phase: content.
--
-- A worker that a killed master left has dictionaries of its own: what is meant for those of another master is refused.
function M.handle()
  local meant = ngx.var.http_narthex_master
  if meant and meant ~= master then
    return say(MISDIRECTED, "this worker is of master " .. master .. "\n")
  end
  local methods = HANDLERS[ngx.var.uri]
  if not methods then
    return say(404, "unknown path\n")
  end
  local handler = methods[ngx.req.get_method()]
  if not handler then
    return say(405, "wrong method\n")
  end
  return handler()
end

return M
