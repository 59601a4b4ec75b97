--- Whether clients should leave this worker: NGINX is about to be reloaded.
--
-- A worker that ends closes its idle connections at once, and a request that is on its way on one is lost. So from just before a
-- reload each answer on HTTP/1 ends its connection in order, and few connections are left to be closed. The controller counts
-- reloads in the shared dictionary; a worker that began under a lower number is one of those that are about to end. Clients of
-- HTTP/2 learn from NGINX itself which requests were not taken.
-- @module narthex.state.closing

local ngx = ngx
local dictionaries = require("narthex.state.dictionaries")
local inner = require("narthex.request.inner")
local tap = require("narthex.metrics.tap")

local exec = ngx.exec
local http_version = ngx.req.http_version

local M = {}

local CLOSING = inner.location("narthex_closing")

local state = dictionaries.get("configuration_data")
local born = 0
--- Whether it is about to end, and the revision at which that was so.
local due, known_at = false, -1

--- Notes under which number this worker begins. Phase: init_worker.
function M.start()
  born = state:get("closing")
end

--- Has the connection of this request end with its answer if the worker is about to. Does not return then.
-- Phase: rewrite, of a location whose hook is that of `@narthex_closing` as well.
-- @tparam number revision of the live state: it rises with each reload that begins
function M.leave(revision)
  if revision ~= known_at then
    due, known_at = state:get("closing") > born, revision
    tap.look()
  end
  if due and http_version() < 2 then
    return exec(CLOSING)
  end
end

--- Counts a reload that begins, or takes back one that failed. Phase: content.
-- @tparam number by 1 or -1
function M.count(by)
  state:incr("closing", by)
  -- Behind it: a request that meets the new revision meets the new number.
  state:incr("rev", 1)
end

return M
