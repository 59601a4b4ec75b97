--- Texts with `$1`, `$name` and `${name}`, as NGINX reads them in its directives.
-- @module narthex.request.expand

local identity = require("narthex.route.identity")

local byte = string.byte
local concat = table.concat
local find = string.find
local format = string.format
local gsub = string.gsub
local lower = string.lower
local match = string.match
local sub = string.sub
local type = type

local M = {}

--- Names whose values are not NGINX's: functions of `ngx.var`.
local OWN = {}

--- Gives a name a value of ours. Phase: init.
-- @tparam string name
-- @tparam function value of `ngx.var`
function M.define(name, value)
  OWN[name] = value
end

--- The variable or capture that starts at the `$` at `at`: its name or number, and the position after it.
local function reference(text, at)
  local digit = match(text, "^[1-9]", at + 1)
  if digit then
    return byte(digit) - 48, at + 2
  end
  local name = match(text, "^[%w_]+", at + 1)
  if name then
    return name, at + 1 + #name
  end
  name = match(text, "^{([%w_]+)}", at + 1)
  if name then
    return match(name, "^[1-9]$") and byte(name) - 48 or name, at + 3 + #name
  end
end

--- Cuts a text at its references.
-- Phase: any.
-- @tparam string text
-- @treturn string|table the text itself when it has no reference, else what `eval` takes
function M.compile(text)
  local parts, from, at = {}, 1, find(text, "$", 1, true)
  while at do
    local target, after = reference(text, at)
    if target then
      if at > from then
        parts[#parts + 1] = { text = sub(text, from, at - 1) }
      end
      parts[#parts + 1] = type(target) == "number" and { capture = target } or { name = target }
      identity.want(target)
      from = after
    end
    at = find(text, "$", after or at + 1, true)
  end
  if #parts == 0 then
    return text
  end
  if from <= #text then
    parts[#parts + 1] = { text = sub(text, from) }
  end
  return parts
end

--- Whether a text refers to captures by number.
-- Phase: any.
-- @tparam string|table compiled
-- @treturn boolean
function M.has_captures(compiled)
  for i = 1, type(compiled) == "table" and #compiled or 0 do
    if compiled[i].capture then
      return true
    end
  end
  return false
end

--- The text with its references replaced; unknown variables and captures are empty.
-- Phase: any in which `ngx.var` works.
-- @tparam string|table compiled
-- @tparam table var `ngx.var`
-- @tparam ?table captures from `ngx.re.match`; named ones hide variables
-- @tparam ?function escape applied to captures
-- @treturn string
function M.eval(compiled, var, captures, escape)
  if type(compiled) == "string" then
    return compiled
  end
  local out = {}
  for i = 1, #compiled do
    local part = compiled[i]
    local text = part.text
    if not text then
      text = captures and captures[part.capture or part.name]
      if text and escape then
        text = escape(text)
      elseif not text then
        local own = part.name and OWN[part.name]
        text = own and own(var) or part.name and var[part.name] or ""
      end
    end
    out[i] = text
  end
  return concat(out)
end

local function hex(one)
  return format("%%%02X", byte(one))
end

--- The same for a line of a request: a value of the client's, such as the decoded `$uri`, must not end it.
-- @treturn string
function M.line(compiled, var, captures)
  local text = M.eval(compiled, var, captures)
  return find(text, "%c") and gsub(text, "%c", hex) or text
end

--- The same for a URL, which has no spaces either.
-- @treturn string
function M.url(compiled, var)
  return (gsub(M.eval(compiled, var), "[%z\1-\32\127]", hex))
end

--- Whether NGINX would take a URL for a unix socket, as the control plane's is: no variable of a tenant's URL may lead there.
-- Phase: any.
-- @tparam string url
-- @treturn boolean
function M.is_socket(url)
  return find(lower(sub(url, 1, 13)), "^https?://unix:") ~= nil
end

return M
