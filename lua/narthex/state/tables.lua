--- The tables of the live state (`narthex.state.wire`), and what is counted about them.
--
-- `configuration_data` also holds, beside records: `rev`, incremented once per applied batch after its last write; `stamp`,
-- incremented before the first, which is the batch's name in its records; `digest` and `entries`, changed by `incr` only;
-- `generation`, the controller's marker; `closing`, see `narthex.state.closing`. None of these has a `:` in its name, every record has.
-- @module narthex.state.tables

local ngx = ngx
local dictionaries = require("narthex.state.dictionaries")
local wire = require("narthex.state.wire")

local crc32 = ngx.crc32_long
local sub = string.sub

--- `BY_NAME`: of each table its dictionary and the prefix of its keys there. `DICTS`: the dictionary, by the letter. `FORMERS`: what
-- workers of before have instead, if anything. `SECRET`: whether its values never leave, by the letter.
local M = { BY_NAME = {}, DICTS = {}, FORMERS = {}, SECRET = {} }

local state = dictionaries.get("configuration_data")

--- Names of the dictionaries, each once.
local DICT_NAMES = {}

for _, row in ipairs(wire.TABLES) do
  local dict = dictionaries.get(row.dictionary)
  M.BY_NAME[row.name] = { dict = dict, prefix = row.letter .. ":" }
  M.DICTS[row.letter], M.SECRET[row.letter] = dict, row.is_secret
  M.FORMERS[row.letter] = dictionaries.former(row.dictionary)
  if not DICT_NAMES[row.dictionary] then
    DICT_NAMES[row.dictionary] = true
    DICT_NAMES[#DICT_NAMES + 1] = row.dictionary
  end
end

--- The dictionaries whose fill is reported, by name.
M.NAMES = {
  "auth_nonces", "auth_verdicts", "balancer_ewma", "balancer_ewma_last_touched_at", "balancer_ewma_locks", "limit_conn", "limit_req",
  "otel_spans", "request_metrics", unpack(DICT_NAMES),
}

--- Makes the counters, so that later increments need no memory. Those of an earlier configuration stay. Phase: init.
function M.setup()
  for _, counter in ipairs({ "rev", "stamp", "digest", "entries", "closing" }) do
    local ok, err = state:safe_add(counter, 0)
    if not ok and err ~= "exists" then
      error("narthex: shared dictionary configuration_data: " .. err)
    end
  end
end

--- A record's part of the digest. Phase: any.
-- @tparam string letter
-- @tparam string key
-- @tparam string value
-- @treturn number
function M.crc(letter, key, value)
  return crc32(letter .. "\t" .. key .. "\t" .. value)
end

--- Calls back for every record. Costs a copy of all keys. Phase: content.
-- @tparam function visit `(letter, key, dict)`
function M.each(visit)
  for _, name in ipairs(DICT_NAMES) do
    local dict = dictionaries.get(name)
    for _, full in ipairs(dict:get_keys(0)) do
      local letter = sub(full, 1, 1)
      if sub(full, 2, 2) == ":" and M.DICTS[letter] == dict then
        visit(letter, sub(full, 3), dict)
      end
    end
  end
end

--- Changes the counters. Phase: content.
-- @tparam number digest added to the digest
-- @tparam number entries added to the number of records
function M.count(digest, entries)
  if digest ~= 0 then
    state:incr("digest", digest)
  end
  if entries ~= 0 then
    state:incr("entries", entries)
  end
end

--- Counts digest and entries again, and puts the kept ones right if nothing was written meanwhile: a worker that was
-- killed between a write and its count leaves them wrong. Phase: content.
-- @treturn number digest
-- @treturn number entries
function M.audit()
  local stamp = state:get("stamp")
  local kept_digest, kept_entries = state:get("digest"), state:get("entries")
  local digest, entries = 0, 0
  M.each(function(letter, key, dict)
    local value = dict:get(letter .. ":" .. key)
    if value then
      digest, entries = digest + M.crc(letter, key, value), entries + 1
    end
  end)
  if state:get("stamp") == stamp then
    M.count(digest - kept_digest, entries - kept_entries)
  end
  return digest, entries
end

return M
