--- Applies a batch of changes, line by line, to the shared dictionaries.
-- @module narthex.state.batch

local ngx = ngx
local dictionaries = require("narthex.state.dictionaries")
local tables = require("narthex.state.tables")

local byte = string.byte
local crc32 = ngx.crc32_long
local find = string.find
local sub = string.sub

local DICTS, FORMERS = tables.DICTS, tables.FORMERS
local SET, REMOVE, TAB, RETURN = byte("=-\t\r", 1, 4)
--- User flags are a C int, and 0 reads as none.
local STAMPS = 2 ^ 31 - 1

local M = {}

local state = dictionaries.get("configuration_data")

--- Where workers of before look for changes, if that is another one.
local former_state = dictionaries.former("configuration_data")

local function next_stamp()
  return state:incr("stamp", 1) % STAMPS + 1
end

--- Publishes what was written: from here on workers read it.
local function publish(work)
  tables.count(work.digest, work.entries)
  work.digest, work.entries = 0, 0
  state:incr("rev", 1)
  if former_state then
    former_state:incr("rev", 1)
  end
end

--- Writes a record, or removes it, for workers of before as well, which finish what they have begun. One that finds no room there is
-- removed: its version of before might protect less.
local function follow(letter, full, value, stamp)
  local former = FORMERS[letter]
  if former and (value == nil or not former:safe_set(full, value, 0, stamp)) then
    former:delete(full)
  end
end

--- A key for the second time: what a worker may have read in between must not pass for the newest.
local function separate(work, full)
  if work.written[full] then
    publish(work)
    work.stamp, work.written = next_stamp(), {}
  end
  work.written[full] = true
end

local function forget(work, letter, key, old)
  work.digest = work.digest - tables.crc(letter, key, old)
  work.entries = work.entries - 1
end

local function remove(work, letter, key)
  local full, dict = letter .. ":" .. key, DICTS[letter]
  local old = dict:get(full)
  if old then
    separate(work, full)
    dict:delete(full)
    follow(letter, full)
    forget(work, letter, key, old)
  end
end

--- `line` is what the digest counts: letter, key and value, with tabs between.
local function set(work, letter, key, value, line)
  local full, dict = letter .. ":" .. key, DICTS[letter]
  local old, old_stamp = dict:get(full)
  if old == value then
    return
  end
  separate(work, full)
  local ok, err = dict:safe_set(full, value, 0, work.stamp)
  if ok then
    follow(letter, full, value, work.stamp)
    if old then
      forget(work, letter, key, old)
    end
    work.digest = work.digest + crc32(line)
    work.entries = work.entries + 1
    return
  end
  -- A refused set of another size has freed the old value; its place is still there.
  if old and not dict:get(full) and not dict:safe_set(full, old, 0, old_stamp) then
    forget(work, letter, key, old)
  end
  return err
end

local function apply(work, body, from, to)
  local tab = find(body, "\t", from + 3, true)
  if tab and tab > to then
    tab = nil
  end
  local letter = sub(body, from + 1, from + 1)
  local op = byte(body, from)
  local readable = DICTS[letter] and byte(body, from + 2) == TAB and to >= from + 3
    and (op == REMOVE and not tab or op == SET and tab and tab > from + 3)
  if not readable then
    work.malformed = true
    return sub(body, from + 1, math.min(to, from + 80)), "neither =<table>\\t<key>\\t<value> nor -<table>\\t<key>"
  end
  if op == REMOVE then
    return nil, remove(work, letter, sub(body, from + 3, to))
  end
  local key = sub(body, from + 3, tab - 1)
  local err = set(work, letter, key, sub(body, tab + 1, to), sub(body, from + 1, to))
  return letter .. "\t" .. key, err
end

--- Applies the lines of a batch in order; a line that fails does not keep the others from being applied.
-- Phase: content; does not yield, so that a worker's batches don't mix.
-- @tparam string body
-- @treturn table list of `{line, key, error}`, empty when all went well
-- @treturn boolean whether a line was malformed
function M.apply(body)
  local work = { stamp = next_stamp(), written = {}, digest = 0, entries = 0, malformed = false }
  local errors, from, number, length = {}, 1, 0, #body
  while from <= length do
    local newline = find(body, "\n", from, true) or length + 1
    local to = newline - 1
    if byte(body, to) == RETURN and to >= from then
      to = to - 1
    end
    number = number + 1
    if to >= from then
      local key, err = apply(work, body, from, to)
      if err then
        errors[#errors + 1] = { line = number, key = key, error = err }
      end
    end
    from = newline + 1
  end
  publish(work)
  return errors, work.malformed
end

return M
