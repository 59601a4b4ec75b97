--- Sets of addresses: is the client in one of these networks?
--
-- A set holds, for each length of prefix that occurs, the prefixes as bytes; a lookup costs one per length, however many networks
-- there are.
-- @module narthex.request.networks

local bit = require("bit")

local byte = string.byte
local char = string.char
local find = string.find
local gmatch = string.gmatch
local match = string.match
local rep = string.rep
local sub = string.sub
local band = bit.band
local rshift = bit.rshift

--- What an IPv4 address begins with when it is written as an IPv6 one.
local MAPPED = rep("\0", 10) .. "\255\255"

local M = {}

local function parse_v4(text)
  local a, b, c, d = match(text, "^(%d+)%.(%d+)%.(%d+)%.(%d+)$")
  a, b, c, d = tonumber(a), tonumber(b), tonumber(c), tonumber(d)
  if a and a < 256 and b < 256 and c < 256 and d < 256 then
    return char(a, b, c, d)
  end
end

--- Groups between colons as bytes; the last may be an IPv4 address.
local function parse_groups(text)
  local out = ""
  for group in gmatch(text, "[^:]+") do
    local number = match(group, "^%x%x?%x?%x?$") and tonumber(group, 16)
    local part = number and char(rshift(number, 8), band(number, 255)) or parse_v4(group)
    if not part then
      return nil
    end
    out = out .. part
  end
  return out
end

local function parse_v6(text)
  local gap, after = find(text, "::", 1, true)
  local head = parse_groups(gap and sub(text, 1, gap - 1) or text)
  local tail = parse_groups(gap and sub(text, after + 1) or "")
  if not head or not tail or #head + #tail > 16 or not gap and #head ~= 16 then
    return nil
  end
  return head .. rep("\0", 16 - #head - #tail) .. tail
end

--- An address as bytes.
-- Phase: any.
-- @tparam ?string text without brackets
-- @treturn ?string 4 or 16 bytes; nil if it is not an address
function M.parse(text)
  return text and (parse_v4(text) or parse_v6(text))
end

--- An address in its shortest form. Phase: any.
-- @tparam string address bytes
-- @treturn string bytes; four where it is an IPv4 address in the form of an IPv6 one
function M.plain(address)
  return #address == 16 and sub(address, 1, 12) == MAPPED and sub(address, 13) or address
end

--- The first `bits` bits of an address as bytes, the last one's other bits cleared.
local function prefix_of(address, bits)
  local whole, rest = rshift(bits, 3), bits % 8
  if rest == 0 then
    return sub(address, 1, whole)
  end
  return sub(address, 1, whole) .. char(band(byte(address, whole + 1), 256 - 2 ^ (8 - rest)))
end

local function add(set, text)
  local name, bits = match(text, "^([^/]+)/(%d+)$")
  local address = M.parse(name or text)
  bits = tonumber(bits) or address and #address * 8
  if not address or bits > #address * 8 then
    return nil
  end
  local family = set[#address]
  local prefixes = family[bits]
  if not prefixes then
    prefixes = {}
    family[bits] = prefixes
    family.lengths[#family.lengths + 1] = bits
  end
  prefixes[prefix_of(address, bits)] = true
  return true
end

--- Compiles a set.
-- Phase: any.
-- @tparam table list of addresses and networks such as `10.0.0.0/8`
-- @treturn table|nil what `contains` takes
-- @treturn nil|string what is not a network
function M.compile(list)
  local set = { [4] = { lengths = {} }, [16] = { lengths = {} } }
  for _, text in ipairs(list) do
    if type(text) ~= "string" or not add(set, text) then
      return nil, "not a network: " .. tostring(text)
    end
  end
  return set
end

--- Whether an address is in a set. Phase: any.
-- @tparam table set from `compile`
-- @tparam ?string address bytes, as `$binary_remote_addr` has them; an address of another kind is in no set
-- @treturn boolean
function M.contains(set, address)
  if not address then
    return false
  end
  address = M.plain(address)
  local family = set[#address]
  if not family then
    return false
  end
  local lengths = family.lengths
  for i = 1, #lengths do
    if family[lengths[i]][prefix_of(address, lengths[i])] then
      return true
    end
  end
  return false
end

return M
