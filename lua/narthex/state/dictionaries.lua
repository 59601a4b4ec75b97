--- The shared dictionaries by their names here, and what becomes of one whose size changes.
--
-- NGINX can't change a size: another one is another, empty dictionary, and workers of before go on with theirs. So the new one has another
-- name in nginx.conf, beside the former one. The master copies the one into the other when it reads the configuration, before there is a
-- worker of it; the controller writes nothing meanwhile. As long as the former one is there, workers keep it up to date for those of
-- before.
-- @module narthex.state.dictionaries

local ngx = ngx

local M = {}

--- In each new dictionary, so that what was copied once is not copied again when the configuration is read again.
local MOVED = "\6moved"
local IS_LIST = "value is a list"

--- Records, and counts that all workers have together. Of `limit_conn` nothing is copied: as long as there is a former dictionary the
-- counts of both are added up. Locks of `balancer_ewma_locks` expire at once.
local COPIED = {
  "certificate_data", "certificate_servers", "ocsp_response_cache", "configuration_data",
  "auth_nonces", "auth_verdicts", "balancer_ewma", "balancer_ewma_last_touched_at", "limit_req",
}
--- Those among them whose records must all be there.
local COMPLETE = { certificate_data = true, certificate_servers = true, ocsp_response_cache = true, configuration_data = true }
--- What waits for the controller, once: taken out of the former one, now and later.
local DRAINED = { "otel_spans", "request_metrics" }

local names, formers = {}, {}

--- Takes what the configuration says. Phase: init.
-- @tparam table moved name here -> `{name, former}` in nginx.conf, of those that differ
function M.setup(moved)
  for name, place in pairs(moved) do
    names[name], formers[name] = place.name, place.former
  end
end

--- A dictionary. Phase: any.
-- @tparam string name
-- @treturn ?table
function M.get(name)
  return ngx.shared[names[name] or name]
end

--- What workers of before have under this name, if that is another one. Phase: any.
-- @tparam string name
-- @treturn ?table
function M.former(name)
  local former = formers[name]
  return former and ngx.shared[former]
end

--- Its size, what is free, and its names in nginx.conf where they are not its own. Phase: any.
-- @tparam string name
-- @treturn table
function M.describe(name)
  local dict, former = M.get(name), M.former(name)
  return {
    capacity = dict:capacity(), free = dict:free_space(), name = names[name], former = former and former:capacity(),
  }
end

--- Workers of before go on using the list, so each item stays there.
local function copy_list(from, to, key)
  for _ = 1, from:llen(key) or 0 do
    local item = from:lpop(key)
    if not item then
      break
    end
    from:rpush(key, item)
    local ok, err = to:rpush(key, item)
    if not ok then
      return nil, err
    end
  end
  return true
end

local function copy_entry(from, to, key)
  local value, flags = from:get(key)
  if value ~= nil then
    return to:safe_set(key, value, from:ttl(key) or 0, flags or 0)
  elseif flags == IS_LIST then
    return copy_list(from, to, key)
  end
  -- It has expired.
  return true
end

--- Moves the items of a list, as far as there is room.
local function drain_list(from, to, key)
  local item = from:lpop(key)
  while item do
    local ok, err = to:rpush(key, item)
    if not ok then
      from:lpush(key, item)
      return nil, err
    end
    item = from:lpop(key)
  end
  return true
end

local function move_entry(from, to, key)
  local value, flags = from:get(key)
  if value == nil then
    return flags ~= IS_LIST or drain_list(from, to, key)
  end
  local ok, err = to:safe_set(key, value, from:ttl(key) or 0, flags or 0)
  if ok then
    from:delete(key)
  end
  return ok, err
end

--- Calls `entry` for each key, once in the life of the new dictionary. Returns how many had no room.
local function each(name, entry)
  local from, to = M.former(name), M.get(name)
  if not from or not to:safe_add(MOVED, true) then
    return 0
  end
  local lost, why = 0, nil
  for _, key in ipairs(from:get_keys(0)) do
    local ok, err = true, nil
    if key ~= MOVED then
      ok, err = entry(from, to, key)
    end
    if not ok then
      lost, why = lost + 1, err
    end
  end
  if lost > 0 then
    ngx.log(ngx.WARN, "shared dictionary ", name, ": ", lost, " entries have no room in its new size: ", why)
  end
  return lost
end

--- Moves what is to be moved. Where records found no room, what is there counts as incomplete until the controller has sent everything.
-- Phase: init.
function M.move()
  local is_complete = true
  for _, name in ipairs(COPIED) do
    local lost = each(name, copy_entry)
    is_complete = is_complete and (lost == 0 or not COMPLETE[name])
  end
  for _, name in ipairs(DRAINED) do
    each(name, move_entry)
  end
  if not is_complete then
    M.get("configuration_data"):delete("generation")
  end
end

--- Takes over what workers of before have added to a list since. Phase: any.
-- @tparam string name of the dictionary
-- @tparam string key of the list
function M.drain(name, key)
  local from = M.former(name)
  if from then
    drain_list(from, M.get(name), key)
  end
end

return M
