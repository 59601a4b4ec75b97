--- The client's address where both the PROXY protocol and a header say it.
--
-- NGINX takes an address from one header only, and before rewriting as well as before access. So the request gets a header that no client
-- can send, with what is to count (the variable `$narthex_client`); NGINX takes it before access, and only then the route is looked for.
-- @module narthex.request.source

local ngx = ngx

local M = {}

local ROUTER = "@narthex_router\n"

local header

--- Takes the global settings. Phase: init.
-- @tparam table config from `narthex.config`
function M.setup(config)
  header = config.address_header
end

--- Notes the address. Phase: rewrite.
function M.note()
  ngx.req.set_header(header, ngx.var.narthex_client)
end

--- Goes on to the route. Does not return. Phase: content.
function M.go_on()
  ngx.req.clear_header(header)
  return ngx.exec(ROUTER)
end

return M
