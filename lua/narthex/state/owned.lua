--- Entries of a shared dictionary that clients make, each with an owner: the namespace whose rule asks for it.
--
-- No owner's entries push out another's. Each has a list of its keys, oldest first, in the dictionary itself. It may have four times what
-- is still free: alone that is four fifths of the dictionary, and an owner that comes later always finds room. An owner above that loses
-- its own oldest entry for each new one, or, where entries must not be lost, gets none.
--
-- An entry that expires leaves its key in the list, and is made again under the same key: a number in the entry's flags and before the key
-- tells which of them is meant.
-- @module narthex.state.owned

local format = string.format
local find = string.find
local random = math.random
local sub = string.sub
local tonumber = tonumber

--- No other key of these dictionaries begins like this.
local LIST = "\5"
local LARGEST_STAMP = 0x7fffffff
--- Bytes of an entry and of its place in the list beside its key, and how much an owner may have for each byte that is free.
local OVERHEAD, FACTOR = 192, 4
--- How many keys are looked at for each new entry, so that the list is at most twice as long as it must be; and for one without room.
local LOOKS, MOST_LOOKS = 2, 16

local M = {}
M.__index = M

--- The entries of a dictionary. Phase: any.
-- @tparam table dict a shared dictionary
-- @tparam ?function is_idle whether an entry of this value may be lost; absent: all may
-- @treturn table
function M.new(dict, is_idle)
  return setmetatable({ dict = dict, is_idle = is_idle }, M)
end

--- Looks at the oldest keys: takes out those without an entry, and up to `most` entries that may be lost. Returns how many.
local function trim(self, list, looks, most)
  local dict, is_idle = self.dict, self.is_idle
  local taken = 0
  for _ = 1, looks do
    local item = dict:lpop(list)
    if not item then
      break
    end
    local blank = find(item, " ", 1, true)
    local key, stamp = sub(item, blank + 1), tonumber(sub(item, 1, blank - 1), 16)
    local value, flags = dict:get(key)
    if value == nil or flags ~= stamp then
      taken = taken + 1
    elseif most > 0 and (not is_idle or is_idle(value)) then
      dict:delete(key)
      taken, most = taken + 1, most - 1
    else
      dict:rpush(list, item)
    end
  end
  return taken
end

local function insert(self, list, key, value, seconds)
  local dict, stamp = self.dict, random(LARGEST_STAMP)
  local ok, err = dict:safe_add(key, value, seconds or 0, stamp)
  if not ok then
    return false, err
  end
  ok, err = dict:rpush(list, format("%x ", stamp) .. key)
  if not ok then
    dict:delete(key)
    return false, err
  end
  return true
end

--- Adds an entry. Phase: any.
-- @tparam string owner
-- @tparam string key
-- @param value a number or true
-- @tparam ?number seconds until it expires
-- @treturn boolean
-- @treturn ?string "exists", or "no memory" where the owner has used up its share
function M:add(owner, key, value, seconds)
  local dict, list = self.dict, LIST .. owner
  local is_above = (dict:llen(list) or 0) * (OVERHEAD + 2 * #key) > dict:free_space() * FACTOR
  if is_above then
    if dict:get(key) ~= nil then
      return false, "exists"
    elseif trim(self, list, MOST_LOOKS, LOOKS) == 0 then
      return false, "no memory"
    end
  end
  local ok, err = insert(self, list, key, value, seconds)
  if err == "no memory" and trim(self, list, MOST_LOOKS, MOST_LOOKS) > 0 then
    -- What the dictionary has left is of another size.
    ok, err = insert(self, list, key, value, seconds)
  end
  if ok and not is_above then
    trim(self, list, LOOKS, 0)
  end
  return ok, err
end

return M
