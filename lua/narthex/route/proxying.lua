--- What a route says about proxying that NGINX takes from variables: headers of answers, the connection, copies of requests.
-- @module narthex.route.proxying

local ngx = ngx
local context = require("narthex.request.context")
local expand = require("narthex.request.expand")
local outside = require("narthex.balance.outside")

local M = {}

--- What is found in no header. An empty text would be found in every one, which NGINX then writes in its own words.
local NEVER = "\n"

--- Field of a record, and the variables of what is replaced and by what.
local REPLACEMENTS = {
  proxy_cookie_domain = { "narthex_domain_from", "narthex_domain_to" },
  proxy_cookie_path = { "narthex_path_from", "narthex_path_to" },
  proxy_redirect = { "narthex_location_from", "narthex_location_to" },
}

--- Compiles what a route has of it.
-- Phase: any.
-- @tparam table given the decoded policy
-- @treturn ?table what `apply` takes; nil if there is nothing
function M.compile(given)
  local fixed, expanded = {}, {}
  for field, names in pairs(REPLACEMENTS) do
    local pair = given.replacements and given.replacements[field]
    if pair then
      fixed[#fixed + 1] = { name = names[1], value = pair[1] ~= "" and pair[1] or NEVER }
      fixed[#fixed + 1] = { name = names[2], value = pair[2] }
    end
  end
  if given.fastcgi_index then
    fixed[#fixed + 1] = { name = "narthex_fastcgi_index", value = given.fastcgi_index }
  end
  if given.connection_proxy_header then
    fixed[#fixed + 1] = { name = "connection_upgrade", value = given.connection_proxy_header }
  end
  if given.mirror then
    expanded[1] = { name = "narthex_mirror_target", value = expand.compile(given.mirror.mirror_target), expand = expand.url }
    expanded[2] = { name = "narthex_mirror_host", value = expand.compile(given.mirror.mirror_host), expand = expand.line }
  end
  return (#fixed > 0 or #expanded > 0) and { fixed = fixed, expanded = expanded } or nil
end
jit.off(M.compile)

--- Remembers what held before, for a request that comes to another route.
local function replace(fixed, var)
  local before = {}
  for i = 1, #fixed do
    local name = fixed[i].name
    before[name], var[name] = var[name] or "", fixed[i].value
  end
  context.open(var).replaced = before
end

--- Sets the variables.
-- Phase: rewrite.
-- @tparam table rule from `compile`
-- @tparam table var `ngx.var`
function M.apply(rule, var)
  local fixed, expanded = rule.fixed, rule.expanded
  if #fixed > 0 then
    replace(fixed, var)
  end
  for i = 1, #expanded do
    var[expanded[i].name] = expanded[i].expand(expanded[i].value, var)
  end
end

--- Leads a copy to its target. Phase: rewrite, of the copy.
function M.copy()
  if not ngx.is_subrequest then
    -- A backend sent the request here.
    return ngx.exit(ngx.HTTP_NOT_FOUND)
  end
  local var = ngx.var
  local url, host = outside.lead(var.narthex_mirror_target)
  if not url then
    ngx.log(ngx.ERR, "mirror-target ", host, ", nothing is copied: ", var.narthex_mirror_target)
    return ngx.exit(ngx.HTTP_BAD_GATEWAY)
  end
  var.narthex_mirror_target, var.narthex_mirror_name = url, host
end

--- Sets the header with the prefix that the rewrite cut off. Phase: rewrite, access.
-- @tparam string value empty: the backend gets none, not even the client's
function M.set_prefix(value)
  ngx.req.set_header("X-Forwarded-Prefix", value ~= "" and value or nil)
end

return M
