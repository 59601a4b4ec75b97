--- CORS: whose pages may read the answers.
-- @module narthex.request.cors

local find = string.find
local lower = string.lower
local sub = string.sub

local M = {}

--- Cuts `https://*.example.com` into what stands before and behind the label.
local function wildcard(origin)
  local at = find(origin, "*", 1, true)
  return at and { head = sub(origin, 1, at - 1), tail = sub(origin, at + 1) }
end

local function origins(given)
  local exact, wild = {}, {}
  for _, origin in ipairs(given) do
    local cut = wildcard(origin)
    if cut then
      wild[#wild + 1] = cut
    else
      exact[origin] = true
    end
  end
  return exact, wild
end

--- Compiles what a policy says.
-- Phase: any.
-- @tparam table given `cors` of the decoded policy
-- @treturn table
function M.compile(given)
  local cors = { headers = given.headers, any = not given.cors_allow_origin }
  if given.cors_allow_origin then
    cors.exact, cors.wild = origins(given.cors_allow_origin)
  end
  return cors
end

local function is_covered(one, received)
  local head, tail = one.head, one.tail
  if #received <= #head + #tail or sub(received, 1, #head) ~= head or sub(received, -#tail) ~= tail then
    return false
  end
  return find(sub(received, #head + 1, -#tail - 1), "^[%w-]+$") ~= nil
end

--- The value of `Access-Control-Allow-Origin`.
-- Phase: any.
-- @tparam table cors from `compile`
-- @tparam ?string received the header `Origin`
-- @treturn ?string none: the page may not read the answer
function M.origin(cors, received)
  if cors.any then
    return "*"
  end
  if not received then
    return nil
  end
  local name = lower(received)
  if cors.exact[name] then
    return received
  end
  for i = 1, #cors.wild do
    if is_covered(cors.wild[i], name) then
      return received
    end
  end
end

return M
