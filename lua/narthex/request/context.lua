--- State of one request that outlives the change of location, which empties `ngx.ctx`: from the rewrite phase to the log.
--
-- A variable of the request holds the number of a slot. Most requests need none and pay for one test.
-- @module narthex.request.context

local ngx = ngx

local tonumber = tonumber
local tostring = tostring

local M = {}

local slots, free = {}, {}
--- Slots made so far, and whether there is one at all.
local made, in_use = 0, false

--- The state of this request, made at its first use. Phase: rewrite.
-- @tparam table var `ngx.var`
-- @treturn table
function M.open(var)
  local state = M.get(var)
  if state then
    return state
  end
  in_use = true
  local at = free[#free]
  if at then
    free[#free] = nil
  else
    made = made + 1
    at = made
  end
  state = {}
  slots[at] = state
  var.narthex_context = tostring(at)
  return state
end

--- The state of this request, if it has one. Phase: any.
-- @tparam table var `ngx.var`
-- @treturn ?table
function M.get(var)
  if in_use then
    local at = var.narthex_context
    return at and slots[tonumber(at) or 0]
  end
end

--- Forgets the state. Subrequests share that of their parent, which ends last. Phase: log.
-- @tparam table var `ngx.var`
function M.close(var)
  if not in_use or ngx.is_subrequest then
    return
  end
  local at = tonumber(var.narthex_context)
  if at and slots[at] then
    slots[at] = false
    free[#free + 1] = at
  end
end

return M
