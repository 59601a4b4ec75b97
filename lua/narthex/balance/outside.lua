--- Requests of NGINX's own to where a tenant's URL leads: authentication services and mirrors.
--
-- Where a cluster is the source, they never go to an address that no Pod has (loopback, link-local, ...) nor to a control port of
-- this controller. So names are resolved here, and the upstream blocks of these requests connect to the very addresses that were checked.
-- @module narthex.balance.outside

local ngx = ngx
local dns = require("narthex.balance.dns")
local expand = require("narthex.request.expand")
local networks = require("narthex.request.networks")
local ngx_balancer = require("ngx.balancer")

local byte = string.byte
local format = string.format
local lower = string.lower
local match = string.match

--- The upstream block of URLs that have none of their own.
local UPSTREAM = "narthex_outside"

local M = {}

--- Networks that are refused; empty: none is. And ports of this machine.
local refused, control_ports

--- Takes the settings. Phase: init.
-- @tparam table config from `narthex.config`
function M.setup(config)
  dns.setup(config)
  refused = assert(networks.compile(config.local_networks))
  control_ports = {}
  for _, port in ipairs(config.control_ports) do
    control_ports[port] = true
  end
end

local function text_of(address)
  if #address == 4 then
    return format("%d.%d.%d.%d", byte(address, 1, 4))
  end
  local b = { byte(address, 1, 16) }
  local groups = {}
  for i = 1, 8 do
    groups[i] = format("%x", b[2 * i - 1] * 256 + b[2 * i])
  end
  return "[" .. table.concat(groups, ":") .. "]"
end

--- Whether a request would come back to what this controller listens on for its operators.
local function is_control(address, port, var)
  return control_ports[port] and networks.plain(address) == networks.plain(networks.parse(var.server_addr) or "")
end

local function addresses_of(host, trusted)
  local address = networks.parse(match(host, "^%[(.*)%]$") or host)
  if address then
    return { address }
  end
  local name = match(lower(host), "^(.-)%.?$")
  if not match(name, "^[%w._-]+$") then
    return nil, "not a host"
  elseif not trusted and next(refused[4].lengths) and (name == "localhost" or match(name, "%.localhost$")) then
    return nil, "it is this machine, which no Pod is; --allow-local-endpoints allows it"
  end
  return dns.resolve(name)
end

--- Where the request goes: checked addresses for `balance`, and the URL that `proxy_pass` takes.
-- Phase: rewrite, of the request to the URL.
-- @tparam string url without variables
-- @tparam ?boolean trusted the administrator names it: local addresses are allowed
-- @tparam ?string upstream the block that keeps connections to it
-- @treturn ?string the URL with the name of an upstream block in the place of host and port
-- @treturn ?string why it must not or can't go there; else the host
function M.lead(url, trusted, upstream)
  if expand.is_socket(url) then
    return nil, "leads to a unix socket"
  end
  local scheme, authority, rest = match(url, "^(%a+)://([^/?#]*)(.*)$")
  local host, port = match(authority or "", "^(%[[%x:.]*%])(.*)$")
  if not host then
    host, port = match(authority or "", "^([^:]*)(.*)$")
  end
  local number = tonumber(match(port, "^:(%d+)$")) or port == "" and (lower(scheme or "") == "https" and 443 or 80)
  if host == "" or not number or number < 1 or number > 65535 then
    return nil, "is not a URL with a host"
  end
  local addresses, err = addresses_of(host, trusted)
  if not addresses then
    return nil, "leads to " .. host .. ": " .. err
  end
  local peers = {}
  for i = 1, #addresses do
    local address = addresses[i]
    if not trusted and (networks.contains(refused, address) or is_control(address, number, ngx.var)) then
      err = text_of(address) .. ":" .. number .. ", which no Pod has; --allow-local-endpoints allows it"
    else
      peers[#peers + 1] = { host = text_of(address), port = number }
    end
  end
  if #peers == 0 then
    return nil, "leads to " .. host .. ": " .. err
  end
  ngx.ctx.outside = { peers = peers, at = math.random(#peers) }
  return scheme .. "://" .. (upstream or UPSTREAM) .. rest, host
end

--- Sets the peer of this try. Phase: balancer.
function M.balance()
  local state = ngx.ctx.outside
  if not state then
    return ngx.exit(ngx.HTTP_BAD_GATEWAY)
  end
  local count = #state.peers
  if ngx_balancer.get_last_failure() then
    state.at = state.at % count + 1
  elseif count > 1 then
    ngx_balancer.set_more_tries(count - 1)
  end
  local peer = state.peers[state.at]
  local ok, err = ngx_balancer.set_current_peer(peer.host, peer.port)
  if not ok then
    ngx.log(ngx.ERR, "peer ", peer.host, ":", peer.port, ": ", err)
    return ngx.exit(ngx.HTTP_BAD_GATEWAY)
  end
end

return M
