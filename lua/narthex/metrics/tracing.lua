--- Traces: the context of W3C Trace Context passed on, and a span for each request that is sampled.
--
-- Spans wait in a shared dictionary, as JSON (docs/live-protocol.md), until the controller fetches them over the control socket. A
-- queue that is full loses what comes next; no request waits for a collector.
-- @module narthex.metrics.tracing

local ngx = ngx
local cjson = require("cjson.safe")
local context = require("narthex.request.context")
local dictionaries = require("narthex.state.dictionaries")
local expand = require("narthex.request.expand")
local identity = require("narthex.route.identity")
local reason = require("narthex.request.reason")
local request_id = require("narthex.request.request_id")

local find = string.find
local floor = math.floor
local format = string.format
local gsub = string.gsub
local match = string.match
local sub = string.sub
local next_id = request_id.next

--- `in_use`: whether this worker has begun a span.
local M = { in_use = false }

local QUEUE = "spans"
--- Of the last 14 digits of a trace's id, which numbers can hold exactly.
local RANGE = 2 ^ 52

local queue = dictionaries.get("otel_spans")
local settings

--- Takes the global settings. Phase: init.
-- @tparam table config from `narthex.config`
function M.setup(config)
  settings = config.tracing
  if settings.opentelemetry_operation_name then
    settings.opentelemetry_operation_name = expand.compile(settings.opentelemetry_operation_name)
  end
end

--- Compiles the tracing of a route.
-- Phase: any.
-- @tparam ?table given `tracing` of the decoded policy; nil: as the settings say
-- @tparam table config from `narthex.config`
-- @treturn ?table what `begin` takes; nil if requests are not traced
function M.compile(given, config)
  local global = config.tracing
  given = given or { enable_opentelemetry = global.enable_opentelemetry }
  if not given.enable_opentelemetry then
    return nil
  end
  identity.want_all()
  local trust = given.opentelemetry_trust_incoming_span
  if trust == nil then
    trust = global.opentelemetry_trust_incoming_span
  end
  return { name = given.opentelemetry_operation_name, trust = trust }
end

--- The context that the client sent: trace, span, whether it is sampled.
local function incoming(var)
  local header = var.http_traceparent
  if not header then
    return nil
  end
  local version, trace, span, flags, rest = match(header, "^(%x%x)%-(%x+)%-(%x+)%-(%x%x)(.*)$")
  local valid = version and #trace == 32 and #span == 16 and not find(header, "%u")
    and version ~= "ff" and (rest == "" or version ~= "00" and sub(rest, 1, 1) == "-")
    and find(trace, "[^0]") and find(span, "[^0]")
  if valid then
    return trace, span, tonumber(flags, 16) % 2 == 1
  end
end

local function is_sampled(trace, parent, parent_sampled)
  if parent and settings.otel_sampler_parent_based then
    return parent_sampled
  end
  if settings.otel_sampler == "TraceIdRatioBased" then
    return tonumber(sub(trace, 20), 16) < settings.otel_sampler_ratio * RANGE
  end
  return settings.otel_sampler == "AlwaysOn"
end

--- Tells the backend the context, and begins a span if the request is sampled.
-- Phase: rewrite.
-- @tparam table var `ngx.var`
-- @tparam table tracing from `compile`
function M.begin(var, tracing)
  local trace, parent, parent_sampled
  if tracing.trust then
    trace, parent, parent_sampled = incoming(var)
  end
  if not trace then
    trace = next_id()
    -- What it says is about the trace that the client began.
    ngx.req.clear_header("tracestate")
  end
  local sampled, span = is_sampled(trace, parent, parent_sampled), sub(next_id(), 1, 16)
  ngx.req.set_header("traceparent", format("00-%s-%s-%s", trace, span, sampled and "01" or "00"))
  if sampled and settings.exports then
    local state = context.open(var)
    state.span = { trace = trace, id = span, parent = parent, name = tracing.name }
    M.in_use = true
  end
end

--- JSON is UTF-8, requests need not be.
local function text(value)
  return (gsub(value, "[\128-\255]", "?"))
end

local function milliseconds(seconds)
  return floor(seconds * 1000 + 0.5)
end

local function attributes(var)
  local list = { ["http.response.status_code"] = ngx.status }
  local function add(key, value)
    if value and value ~= "" then
      list[key] = text(value)
    end
  end
  add("http.request.method", var.request_method)
  add("url.scheme", var.pass_access_scheme)
  add("url.path", match(var.request_uri or "", "^[^?]*"))
  add("server.address", var.host)
  add("http.route", var.location_path)
  add("client.address", var.remote_addr)
  add("user_agent.original", var.http_user_agent)
  add("network.protocol.version", match(var.server_protocol or "", "/(.*)$"))
  add("k8s.namespace.name", var.namespace)
  add("k8s.ingress.name", var.ingress_name)
  add("k8s.service.name", var.service_name)
  add("narthex.upstream.name", var.proxy_upstream_name)
  add("narthex.upstream.address", var.upstream_addr)
  add("narthex.request.id", var.req_id)
  add("narthex.reason", reason.of(var))
  return list
end

local function name_of(var, span)
  local name = span.name or settings.opentelemetry_operation_name and expand.eval(settings.opentelemetry_operation_name, var)
  if name and name ~= "" then
    return name
  end
  return (var.request_method or "") .. " " .. (var.location_path ~= "" and var.location_path or "/")
end

--- Ends the span of a request. Phase: log.
-- @tparam table var `ngx.var`
-- @tparam table state of the request, see `narthex.request.context`
-- @treturn ?table `{trace, id}` of the span, if it will be exported
function M.finish(var, state)
  local span = state.span
  if not span then
    return nil
  end
  state.span = nil
  if (queue:llen(QUEUE) or 0) >= settings.otel_max_queuesize then
    return nil
  end
  local encoded, err = cjson.encode({
    trace = span.trace,
    span = span.id,
    parent = span.parent,
    name = text(name_of(var, span)),
    began = milliseconds(ngx.req.start_time()),
    ended = milliseconds(ngx.now()),
    failed = ngx.status >= 500 or nil,
    attributes = attributes(var),
  })
  local ok = encoded
  if encoded then
    ok, err = queue:rpush(QUEUE, encoded)
  end
  if not ok then
    ngx.log(ngx.WARN, "a span is lost: ", err)
    return nil
  end
  return span
end

--- Takes over what workers of before have queued, where the size of the dictionary has changed since. Phase: content.
function M.drain()
  dictionaries.drain("otel_spans", QUEUE)
end

--- Takes spans from the queue. Phase: content.
-- @tparam number most how many at most
-- @treturn table of JSON texts
function M.take(most)
  M.drain()
  local spans = {}
  for i = 1, most do
    local span = queue:lpop(QUEUE)
    if not span then
      break
    end
    spans[i] = span
  end
  return spans
end

return M
