--- Records decoded and checked against their declaration (`narthex.state.wire`).
--
-- A field that is not declared, or is of another type or has such a field in it, is reported once and left out. Where it is about access,
-- its policy is denied. A record without a required field can't be used, nor can one with any of these faults where records are strict, as
-- in tests.
-- @module narthex.state.record

jit.off(true, true)

local ngx = ngx
local cjson = require("cjson.safe")

local pairs = pairs
local type = type

local M = {}

local is_strict, reported = false, {}

--- Takes the global settings. Phase: init.
-- @tparam table config from `narthex.config`
function M.setup(config)
  is_strict = config.strict_records
end

--- Reports a field once, however many records have it.
local function report(fault)
  if not reported[fault] then
    reported[fault] = true
    ngx.log(ngx.ERR, "records: ", fault, ", it is left out")
  end
end

local check

local function check_fields(declaration, given, strict)
  local fields, protects, is_denied = declaration.fields, declaration.protects, false
  for name, value in pairs(given) do
    local shape, fault = fields[name], "unknown field"
    if shape then
      -- A part is used whole or not at all: without one of its fields it might allow more. Elements of lists are records of their own.
      fault = check(shape, value, strict or shape.fields ~= nil)
    end
    if fault then
      fault = name .. ": " .. fault
      if strict then
        return fault
      end
      report(fault)
      given[name], is_denied = nil, is_denied or protects[name]
    end
  end
  for name in pairs(declaration.required) do
    if given[name] == nil then
      return name .. ": missing"
    end
  end
  -- Only after the loop: a table must not grow while it is walked through.
  given.denied = is_denied or given.denied
end

local function check_elements(shape, given, strict)
  for _, value in pairs(given) do
    local fault = check(shape, value, strict)
    if fault then
      return fault
    end
  end
end

local function check_tuple(shape, given, strict)
  for i, element in ipairs(shape.tuple) do
    if given[i] ~= nil or i <= shape.least then
      local fault = check(element, given[i], strict)
      if fault then
        return fault
      end
    end
  end
end

--- What is wrong with a value; nil: nothing, or nothing that is left in it.
function check(shape, value, strict)
  local expected = type(shape) == "table" and "table" or shape
  if type(value) ~= expected then
    return "expected a " .. expected .. ", got a " .. type(value)
  elseif expected ~= "table" then
    return nil
  elseif shape.fields then
    return check_fields(shape, value, strict)
  elseif shape.tuple then
    return check_tuple(shape, value, strict)
  end
  return check_elements(shape.list or shape.map, value, strict)
end

--- Decodes a record. Phase: any.
-- @tparam table declaration of `narthex.state.wire`
-- @tparam string text JSON
-- @treturn ?table with fields as they are declared
-- @treturn ?string what is wrong with it; no value of a field
function M.decode(declaration, text)
  local given, err = cjson.decode(text)
  if given == nil then
    return nil, err
  end
  err = check(declaration, given, is_strict)
  if err then
    return nil, err
  end
  return given
end

return M
