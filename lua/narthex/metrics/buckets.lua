--- Which bucket of a histogram a value falls into.
--
-- Without a loop: one here would keep LuaJIT from compiling the log phase, which then costs eight times as much.
-- @module narthex.metrics.buckets

local concat = table.concat
local format = string.format

local M = {}

--- Whole numbers up to here are looked up.
local SMALL = 2048

--- Comparisons as text: the index of the first bound that is at least the value.
local function comparisons(bounds, first, last, lines)
  if first == last then
    lines[#lines + 1] = format("return %d", first)
    return
  end
  local middle = math.floor((first + last) / 2)
  lines[#lines + 1] = format("if value <= %.17g then", bounds[middle])
  comparisons(bounds, first, middle, lines)
  lines[#lines + 1] = "else"
  comparisons(bounds, middle + 1, last, lines)
  lines[#lines + 1] = "end"
end

--- Compiles bounds. Phase: init.
-- @tparam table bounds rising numbers
-- @treturn table what `find` takes
function M.compile(bounds)
  local lines = { "local value = ..." }
  comparisons(bounds, 1, #bounds + 1, lines)
  local large = assert(loadstring(concat(lines, "\n"), "=buckets"))
  local small = {}
  for value = 0, SMALL do
    small[value] = large(value)
  end
  return { small = small, large = large, top = bounds[#bounds], above = #bounds + 1 }
end

--- The bucket of a value, counted from 1. Phase: any.
-- @tparam table buckets
-- @tparam number value whole, not negative
-- @treturn number
function M.find(buckets, value)
  if value > buckets.top then
    return buckets.above
  elseif value <= SMALL then
    return buckets.small[value]
  end
  return buckets.large(value)
end

return M
