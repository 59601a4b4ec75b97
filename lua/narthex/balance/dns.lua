--- Addresses of names, from the name servers that NGINX's own resolver asks (RFC 1035 over UDP, with the sizes of RFC 6891).
--
-- NGINX resolves a name of `proxy_pass` after the last Lua of a request has run, so nothing could look at the address that it finds.
-- @module narthex.balance.dns

local ngx = ngx
local bit = require("bit")
local lrucache = require("resty.lrucache")

local byte = string.byte
local char = string.char
local gmatch = string.gmatch
local lower = string.lower
local random = math.random
local sub = string.sub

local A, AAAA = 1, 28
local LENGTH = { [A] = 4, [AAAA] = 16 }
local NAME_ERROR = 3
--- Seconds: answers are kept at least and at most this long, failures this long.
local SHORTEST, LONGEST, FAILED = 1, 30, 1
--- Milliseconds for the answers of one name server, and how often each is asked.
local PATIENCE, ROUNDS = 2000, 2
--- One question follows, recursion is desired; one additional record: answers may have 1232 bytes.
local FLAGS, ADDITIONAL = "\1\0\0\1\0\0\0\0\0\1", "\0\0\41\4\208\0\0\0\0\0\0"

local M = {}

local servers, types = {}, { A }
--- Names that clients make up must not fill a worker.
local cache = lrucache.new(1000)

--- Takes the name servers. Phase: init.
-- @tparam table config from `narthex.config`
function M.setup(config)
  servers = config.name_servers
  types = config.ipv6 and { A, AAAA } or { A }
end

local function question(name, kind)
  local labels = {}
  for label in gmatch(name, "[^.]+") do
    if #label > 63 then
      return nil
    end
    labels[#labels + 1] = char(#label) .. label
  end
  return #name <= 253 and table.concat(labels) .. "\0" .. char(0, kind, 0, 1) or nil
end

local function number(text, at)
  local high, low = byte(text, at, at + 1)
  return low and high * 256 + low
end

local function after_name(text, at)
  while true do
    local length = byte(text, at)
    if not length or length == 0 then
      return length and at + 1
    elseif length >= 192 then
      return at + 2
    end
    at = at + 1 + length
  end
end

--- Adds the addresses of an answer. Returns whether it answers a question, and its response code if that is an error.
local function read(reply, pending, found)
  local id, code = number(reply, 1), bit.band(byte(reply, 4) or 0, 15)
  local asked = pending[id]
  if not asked or byte(reply, 3) < 128 or lower(sub(reply, 13, 12 + #asked.question)) ~= asked.question then
    return false
  end
  pending[id] = nil
  if code ~= 0 then
    return true, code
  end
  local at = 13 + #asked.question
  for _ = 1, number(reply, 7) do
    at = after_name(reply, at)
    local kind, length = at and number(reply, at), at and number(reply, at + 8)
    if not length then
      break
    end
    -- Of the chain of aliases before the address only the lifetime matters.
    local lifetime = number(reply, at + 4) * 65536 + number(reply, at + 6)
    found.lifetime = math.min(found.lifetime, lifetime)
    if kind == asked.kind and length == LENGTH[kind] and #reply >= at + 9 + length then
      found[#found + 1] = sub(reply, at + 10, at + 9 + length)
    end
    at = at + 10 + length
  end
  return true
end

--- Asks one name server. Returns the addresses as bytes with their `lifetime`; or nil, why, and whether other servers would say the same.
local function ask(server, questions)
  local socket = ngx.socket.udp()
  socket:settimeout(PATIENCE)
  local ok, err = socket:setpeername(server, 53)
  if not ok then
    return nil, err
  end
  local pending, left, found, refused = {}, 0, { lifetime = LONGEST }, nil
  for _, asked in ipairs(questions) do
    local id
    repeat id = random(0, 65535) until not pending[id]
    pending[id] = asked
    left = left + 1
    socket:send(char(bit.rshift(id, 8), bit.band(id, 255)) .. FLAGS .. asked.question .. ADDITIONAL)
  end
  while left > 0 do
    local reply
    reply, err = socket:receive()
    if not reply then
      socket:close()
      return #found > 0 and found or nil, err
    end
    local complete, code = read(reply, pending, found)
    left = complete and left - 1 or left
    refused = refused or code
  end
  socket:close()
  if #found > 0 then
    return found
  elseif refused and refused ~= NAME_ERROR then
    return nil, "response code " .. refused
  end
  return nil, refused and "no such name" or "no address", true
end

local function look_up(name)
  local questions = {}
  for i, kind in ipairs(types) do
    questions[i] = { kind = kind, question = question(name, kind) }
    if not questions[i].question then
      return nil, "not a name"
    end
  end
  local why = "no name server is known"
  for _ = 1, ROUNDS do
    for _, server in ipairs(servers) do
      local found, err, is_final = ask(server, questions)
      if found or is_final then
        return found, err
      end
      why = server .. ": " .. tostring(err)
    end
  end
  return nil, why
end

--- The addresses of a name. Phase: those in which sockets work.
-- @tparam string name in lower case
-- @treturn table|nil addresses as 4 or 16 bytes, at least one
-- @treturn nil|string why there are none
function M.resolve(name)
  local known = cache:get(name)
  if not known then
    local found, err = look_up(name)
    known = found or { err = err }
    cache:set(name, known, found and math.max(found.lifetime, SHORTEST) or FAILED)
  end
  if known.err then
    return nil, known.err
  end
  return known
end

return M
