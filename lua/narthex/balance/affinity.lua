--- Cookie affinity: a cookie keeps a client at its endpoint.
--
-- Its value is `key|owner`. `owner` tells whose key it is: a hash of the backend's name. With the mode "balanced" any key has a place
-- on the ring of endpoints (`narthex.balance.ring`), and a new one is drawn at random; with "persistent" the key is a hash of the endpoint.
-- Both are the same on every replica.
--
-- The choice is made while balancing, the cookie is set with the response: one, for the endpoint that answered.
-- @module narthex.balance.affinity

local ngx = ngx
local identity = require("narthex.route.identity")
local peers_ = require("narthex.balance.peers")
local ring = require("narthex.balance.ring")

local find = string.find
local format = string.format
local md5 = ngx.md5
local random = math.random
local sub = string.sub

local M = {}

--- How many new keys are drawn to miss what the request has tried.
local DRAWS = 20

--- Compiles the affinity of a backend.
-- Phase: any.
-- @tparam ?table given `affinity` of a backend record
-- @treturn table|boolean false if there is none
function M.compile(given)
  if not given then
    return false
  end
  if not given.session_cookie_path then
    identity.want("location_path")
  end
  return {
    name = given.session_cookie_name,
    variable = "cookie_" .. given.session_cookie_name:lower(),
    is_persistent = given.persistent or false,
    moves_on_failure = given.session_cookie_change_on_failure or false,
    expires = given.session_cookie_expires,
    max_age = given.session_cookie_max_age,
    domain = given.session_cookie_domain,
    path = given.session_cookie_path,
    is_secure = given.session_cookie_secure or false,
    same_site = given.session_cookie_samesite,
    same_site_is_conditional = given.session_cookie_conditional_samesite_none or false,
  }
end

--- The second part of cookies for a backend.
-- Phase: any.
-- @tparam table record of the backend
-- @treturn string
function M.owner(record)
  local owner = record.owner
  if not owner then
    owner = md5(md5(record.name) .. record.name)
    record.owner = owner
  end
  return owner
end

--- The request's cookie.
-- Phase: rewrite.
-- @tparam table var `ngx.var`
-- @tparam table rule from `compile`
-- @treturn ?string the key
-- @treturn ?string whose it is; a cookie of one part belongs to no endpoint
function M.read(var, rule)
  local value = var[rule.variable]
  if not value or value == "" then
    return nil
  end
  local bar = find(value, "|", 1, true)
  if not bar then
    return value
  end
  local second = find(value, "|", bar + 1, true)
  return sub(value, 1, bar - 1), sub(value, bar + 1, second and second - 1)
end

local function balanced(record)
  local places = record.places
  if not places then
    local by_id, ids = peers_.by_id(record.balancer.peers)
    places = { by_id = by_id, ring = ring.new(ids, record.former_ring) }
    record.places, record.former_ring = places, nil
  end
  return places
end

local function persistent(record)
  local keys = record.keys
  if not keys then
    keys = { peer_of = {}, key_of = {} }
    for _, peer in ipairs(record.balancer.peers) do
      local key = md5(record.name .. peer.id)
      keys.peer_of[key], keys.key_of[peer.id] = peer, key
    end
    record.keys = keys
  end
  return keys
end

--- The peer of a key; nil if it has none.
local function peer_of(rule, record, key)
  if rule.is_persistent then
    return persistent(record).peer_of[key]
  end
  local places = balanced(record)
  return places.by_id[places.ring:owner(places.ring:locate(key))]
end

local function draw_persistent(record, tried)
  local list = record.balancer.peers
  local peer = tried and peers_.any_untried(list, tried) or list[peers_.any(list)]
  return peer, persistent(record).key_of[peer.id]
end

local function draw_balanced(rule, record, tried)
  local peer, key
  for draw = 1, DRAWS do
    key = format("%.3f.%d.%d", ngx.now() + draw - 1, ngx.worker.pid(), random(999999))
    peer = peer_of(rule, record, key)
    if not tried or not peers_.is_tried(peer, tried) then
      break
    end
  end
  return peer, key
end

--- What a request keeps for its tries and for its response.
-- Phase: rewrite.
-- @tparam table rule from `compile`
-- @tparam string backend key of the backend it applies to
-- @tparam ?string key of the request's cookie
-- @tparam boolean issues whether the route sets cookies
-- @treturn table
function M.begin(rule, backend, key, issues)
  return { rule = rule, backend = backend, key = key, issues = issues, value = false }
end

--- The peer of a try. A failed one is tried again unless the rule says otherwise: the session is there.
-- Phase: balancer.
-- @tparam table choice from `begin`
-- @tparam table record of the backend, which has a balancer
-- @tparam ?string tried from `narthex.balance.peers`.tried
-- @treturn table the peer
function M.pick(choice, record, tried)
  local rule, key = choice.rule, choice.key
  if key and not (tried and rule.moves_on_failure) then
    local peer = peer_of(rule, record, key)
    if peer then
      return peer
    end
  end
  local peer
  if rule.is_persistent then
    peer, key = draw_persistent(record, tried)
  else
    peer, key = draw_balanced(rule, record, tried)
  end
  choice.value = choice.issues and key .. "|" .. M.owner(record)
  return peer
end

return M
