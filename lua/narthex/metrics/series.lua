--- One series of request metrics: a counter and histograms in one array, and their form for the controller.
--
-- Slot 1 counts requests. Each histogram has a slot for the sum, one for each bound (what is at most that and above the one before), and
-- one for what is above all. Milliseconds and bytes. Where exponential buckets are counted as well, `native` has a table for each histogram
-- that has them: index -> count, and under `ZERO` what is 0. `exemplars` is there after a request with a span: for each bucket of the first
-- histogram the last one.
-- @module narthex.metrics.series

local cjson = require("cjson.safe")
local buckets = require("narthex.metrics.buckets")
local exponential = require("narthex.metrics.exponential")
local new_table = require("table.new")

local concat = table.concat
local find = buckets.find
local find_exponential = exponential.find
local format = string.format

local M = {}

--- In the order in which the controller expects them; each with its kind of bounds.
local KINDS = { "time", "time", "time", "time", "length", "length", "size" }

--- How many histograms have exponential buckets, from the first; and the key of what is 0, which no index is.
local NATIVE, ZERO = 6, "zero"
--- Values of a second, and of a byte.
local UNITS = { time = 1000, length = 1 }

local histograms, slots, key
--- Whether there are exponential buckets.
local native = false

--- Takes the settings. Phase: init.
-- @tparam table settings `{key, time, length, size, native_schema}`: what names the bounds, the bounds, and the resolution of exponential
-- buckets
function M.setup(settings)
  histograms, slots, key = {}, 1, cjson.encode(settings.key)
  for i, kind in ipairs(KINDS) do
    local bounds = settings[kind]
    histograms[i] = { at = slots + 1, buckets = buckets.compile(bounds), size = #bounds }
    slots = slots + #bounds + 2
  end
  native = settings.native_schema ~= nil
  for i = 1, native and NATIVE or 0 do
    histograms[i].exponential = exponential.compile(settings.native_schema, UNITS[KINDS[i]])
  end
end

local function fresh_native()
  local found = {}
  for i = 1, NATIVE do
    found[i] = {}
  end
  return found
end

--- A series with its labels. Phase: any.
-- @tparam table route
-- @tparam string host label
-- @tparam boolean of_client whether the host is what a client made up
-- @tparam string method
-- @tparam number status
-- @tparam string canary name of its backend, or empty
-- @treturn table
function M.new(route, host, of_client, method, status, canary)
  local found = new_table(slots, 1)
  for i = 1, slots do
    found[i] = 0
  end
  found.labels = cjson.encode({
    route.namespace or "", route.ingress or "", route.service or "", route.path or "", host, canary, method,
  }) .. "," .. format("%d", status) .. "," .. tostring(of_client)
  if native then
    found.native = fresh_native()
  end
  return found
end

local function observe_native(found, i, value)
  local index = value > 0 and find_exponential(histograms[i].exponential, value) or ZERO
  local counts = found.native[i]
  counts[index] = (counts[index] or 0) + 1
end

local function observe(found, i, value)
  local histogram = histograms[i]
  local at = histogram.at
  local bucket = at + find(histogram.buckets, value)
  found[at] = found[at] + value
  found[bucket] = found[bucket] + 1
  if native and i <= NATIVE then
    observe_native(found, i, value)
  end
end

--- Counts a request. Phase: log.
-- @tparam table found
-- @treturn boolean whether it is the first since the last `reset`
function M.count(found)
  local count = found[1]
  found[1] = count + 1
  return count == 0
end

--- What every request has. Phase: log.
-- @tparam table found
-- @tparam number milliseconds whole
-- @tparam number received bytes
-- @tparam number sent bytes
function M.request(found, milliseconds, received, sent)
  observe(found, 1, milliseconds)
  observe(found, 5, received)
  observe(found, 6, sent)
  observe(found, 7, sent)
end

--- What requests have that an endpoint was tried for, in whole milliseconds; false where there is none. Phase: log.
-- @tparam table found
-- @tparam number|boolean connect
-- @tparam number|boolean header
-- @tparam number|boolean response
function M.upstream(found, connect, header, response)
  if response then
    observe(found, 2, response)
  end
  if header then
    observe(found, 3, header)
  end
  if connect then
    observe(found, 4, connect)
  end
end

--- Keeps a request that was counted, by its trace, until the next `reset`. Phase: log.
-- @tparam table found
-- @tparam number milliseconds what `request` was given
-- @tparam table span `{trace, id}` in hexadecimal digits
-- @tparam number at milliseconds since 1970
function M.exemplar(found, milliseconds, span, at)
  local all = found.exemplars
  if not all then
    all = {}
    found.exemplars = all
  end
  all[find(histograms[1].buckets, milliseconds)] = { milliseconds, span.trace, span.id, at }
end

--- Sum, then pairs of a bucket's index, from 0, and what it counts; empty without observations.
local function encode_histogram(found, histogram)
  local parts, at = {}, histogram.at
  for i = 1, histogram.size + 1 do
    local count = found[at + i]
    if count > 0 then
      parts[#parts + 1] = format("%d,%.0f", i - 1, count)
    end
  end
  if #parts == 0 then
    return "[]"
  end
  return format("[%.0f,", found[at]) .. concat(parts, ",") .. "]"
end

--- What is 0, then pairs of a bucket's index and what it counts; empty without observations.
local function encode_native(counts)
  if next(counts) == nil then
    return "[]"
  end
  local parts = { format("%.0f", counts[ZERO] or 0) }
  for index, count in pairs(counts) do
    if index ~= ZERO then
      parts[#parts + 1] = format("%d,%.0f", index, count)
    end
  end
  return "[" .. concat(parts, ",") .. "]"
end

local function encode_all_native(found)
  local parts = {}
  for i = 1, NATIVE do
    parts[i] = encode_native(found.native[i])
  end
  return ",[" .. concat(parts, ",") .. "]"
end

--- Index of a bucket, from 0, milliseconds, trace, span, and the time, of each; behind the exponential buckets.
local function encode_exemplars(all)
  local parts = {}
  for bucket, one in pairs(all) do
    parts[#parts + 1] = format('[%d,%.0f,"%s","%s",%.0f]', bucket - 1, one[1], one[2], one[3], one[4])
  end
  return (native and "" or ",[]") .. ",[" .. concat(parts, ",") .. "]"
end

--- What was counted since the last `reset`, as one line of JSON. Phase: any.
-- @tparam table found
-- @treturn string
function M.encode(found)
  local parts = {}
  for i = 1, #histograms do
    parts[i] = encode_histogram(found, histograms[i])
  end
  local more = (native and encode_all_native(found) or "") .. (found.exemplars and encode_exemplars(found.exemplars) or "")
  return format("[%s,%.0f,[", found.labels, found[1]) .. concat(parts, ",") .. "]" .. more .. "]"
end

--- A batch of lines with what names the bounds. Phase: any.
-- @tparam table lines
-- @treturn string
function M.head(lines)
  return key .. "\n" .. concat(lines, "\n") .. "\n"
end

--- Begins again. Phase: any.
-- @tparam table found
function M.reset(found)
  for i = 1, slots do
    found[i] = 0
  end
  if native then
    found.native = fresh_native()
  end
  found.exemplars = nil
end

--- Requests that a list of series counts. Phase: any.
-- @tparam table list
-- @treturn number
function M.total(list)
  local total = 0
  for i = 1, #list do
    total = total + list[i][1]
  end
  return total
end

return M
