--- What the rendered nginx.conf tells Lua: decoded and checked once, when NGINX starts or reloads.
-- A worker keeps the configuration that it was forked with for its whole life.
-- @module narthex.config

local cjson = require("cjson.safe")

local M = {}

--- name = { type, default }; no default: the field is required.
local FIELDS = {
  revision = { "string" },
  profiles = { "table" },
  host_servers = { "table", {} },
  ssl_redirect = { "boolean", true },
  force_ssl_redirect = { "boolean", false },
  preserve_trailing_slash = { "boolean", false },
  http_redirect_code = { "number", 308 },
  https_port = { "number", 443 },
  use_port_in_redirects = { "boolean", false },
  relative_redirects = { "boolean", false },
  no_tls_redirect_locations = { "table", {} },
  ssl_reject_handshake = { "boolean", false },
  denylist_source_range = { "table", {} },
  whitelist_source_range = { "table", {} },
  address_header = { "string", false },
  proxy_body_size = { "number", 1048576 },
  proxy_next_upstream_tries = { "number", 3 },
  alt_svc = { "string", false },
  hsts = { "string", false },
  hide_server = { "boolean", true },
  enable_access_log_for_default_backend = { "boolean", false },
  health_check_path = { "string", "/healthz" },
  add_headers = { "table", {} },
  generate_request_id = { "boolean", true },
  serve_base_inline = { "boolean", false },
  tracing = {
    "table",
    {
      enable_opentelemetry = false,
      opentelemetry_trust_incoming_span = true,
      otel_sampler = "AlwaysOn",
      otel_sampler_ratio = 1,
      otel_sampler_parent_based = true,
      otel_max_queuesize = 0,
      exports = false,
    },
  },
  metrics = { "table", false },
  answering = { "table", {} },
  custom_http_errors = { "table", {} },
  route_variables = { "table", false },
  limit_conn_zone_variable = { "string", "$binary_remote_addr" },
  limit_req_status_code = { "number", 503 },
  limit_conn_status_code = { "number", 503 },
  local_networks = { "table", {} },
  control_ports = { "table", {} },
  name_servers = { "table", {} },
  ipv6 = { "boolean", true },
  log_reasons = { "boolean", true },
  reason_header = { "boolean", false },
  reads_reason = { "boolean", false },
  json_log = { "boolean", false },
  strict_records = { "boolean", false },
  dictionaries = { "table", {} },
}

local REDIRECT_CODES = { [301] = true, [302] = true, [307] = true, [308] = true }

local function fail(name, expected, value)
  return nil, ('configuration: "%s": expected %s, got %s'):format(name, expected, cjson.encode(value) or tostring(value))
end

local function set_of(list)
  local set = {}
  for _, name in ipairs(list) do
    set[name] = true
  end
  return set
end

--- The profiles that a host's server block has locations of, by each name that has a block of its own.
local function by_name(host_servers)
  local found = {}
  for _, host_server in pairs(host_servers) do
    local profiles = set_of(host_server.profiles)
    for _, name in ipairs(host_server.names) do
      found[name] = profiles
    end
  end
  return found
end

--- Decodes and checks the configuration.
-- Unknown fields are ignored, absent and null ones take their default.
-- Phase: init.
-- @tparam string text the configuration as JSON
-- @treturn table|nil the configuration; `answering` is a set of names, `profiles_of(host)` gives the set of those that its server block
-- has, `profiles` and `host_servers` are as given, for the answer to `/state`
-- @treturn nil|string what is wrong with it
function M.decode(text)
  local given, err = cjson.decode(text)
  if type(given) ~= "table" then
    return nil, "configuration: not a JSON object: " .. (err or type(given))
  end
  local config = {}
  for name, field in pairs(FIELDS) do
    local value = given[name]
    if value == nil or value == cjson.null then
      value = field[2]
      if value == nil then
        return fail(name, "a " .. field[1], cjson.null)
      end
    elseif type(value) ~= field[1] then
      return fail(name, "a " .. field[1], value)
    end
    config[name] = value
  end
  if not REDIRECT_CODES[config.http_redirect_code] then
    return fail("http_redirect_code", "301, 302, 307 or 308", config.http_redirect_code)
  end
  if config.proxy_next_upstream_tries < 0 or config.proxy_body_size < 0 then
    return fail("proxy_next_upstream_tries, proxy_body_size", "0 or more", { config.proxy_next_upstream_tries, config.proxy_body_size })
  end
  local profiles, host_servers = set_of(config.profiles), by_name(config.host_servers)
  if not profiles.base then
    return fail("profiles", 'a list with "base" in it', config.profiles)
  end
  config.answering = set_of(config.answering)
  function config.profiles_of(host)
    return host_servers[host] or profiles
  end
  return config
end

return M
