--- Names of locations that Lua leads to.
--
-- Each ends in a line break, which no header can hold: a backend that names a location in `X-Accel-Redirect` never means one of these.
-- @module narthex.request.inner

local M = {}

--- The named location of a profile, or of what Lua does itself.
-- Phase: any.
-- @tparam string name
-- @treturn string what `ngx.exec` takes
function M.location(name)
  return "@" .. name .. "\n"
end

return M
