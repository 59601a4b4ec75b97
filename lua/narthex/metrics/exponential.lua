--- Which exponential bucket a value falls into, as Prometheus' native histograms have them.
--
-- Bucket `i` of schema `s` has what is above `2^((i-1) * 2^-s)` and at most `2^(i * 2^-s)`. The logarithm says which one it is but for the
-- neighbours, and comparing with its bounds settles that: so a value that is a bound itself is on the right side of it.
-- @module narthex.metrics.exponential

local ceil = math.ceil
local log = math.log

local M = {}

--- Whole numbers up to here are looked up, and larger ones than the other count as that.
local SMALL, LARGEST = 2048, 2 ^ 50

local function compute(bounds, scale, value)
  local index = ceil(log(value) * scale)
  if value <= bounds[index - 1] then
    return index - 1
  elseif value > bounds[index] then
    return index + 1
  end
  return index
end

--- Compiles a resolution. Phase: init.
-- @tparam number schema
-- @tparam number unit how many of the values are 1
-- @treturn table what `find` takes
function M.compile(schema, unit)
  local scale, bounds = 2 ^ schema / log(2), {}
  for i = ceil(log(1 / unit) * scale) - 2, ceil(log(LARGEST / unit) * scale) + 2 do
    bounds[i] = 2 ^ (i * 2 ^ -schema)
  end
  local small = {}
  for value = 1, SMALL do
    small[value] = compute(bounds, scale, value / unit)
  end
  return { bounds = bounds, scale = scale, small = small, unit = unit }
end

--- The bucket of a value. Phase: any.
-- @tparam table buckets
-- @tparam number value whole, above 0
-- @treturn number
function M.find(buckets, value)
  if value <= SMALL then
    return buckets.small[value]
  elseif value > LARGEST then
    value = LARGEST
  end
  return compute(buckets.bounds, buckets.scale, value / buckets.unit)
end

return M
