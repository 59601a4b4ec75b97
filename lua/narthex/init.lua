--- Start of NGINX and of each worker.
--
-- The master loads every module, with the rights it has, so that workers of another user never open a Lua file.
-- @module narthex.init

local config = require("narthex.config")
local dictionaries = require("narthex.state.dictionaries")
local jit_opt = require("jit.opt")
local re = require("ngx.re")
local wire = require("narthex.state.wire")

local M = {}

--- Modules that phases enter, and those that take settings.
local ENTRIES = {
  "auth.clients", "auth.external", "balance.balancer", "balance.outside", "limits.limits", "metrics.json_log", "metrics.log",
  "metrics.metrics", "metrics.tracing", "request.header", "request.reason", "request.source", "route.choice", "route.errors", "route.host",
  "route.identity", "route.redirect", "route.router", "state.closing", "state.control", "state.record", "tls.certificate",
}

--- Room for compiled regexes to backtrack on the longest request targets. The default of 32 KiB is used up by some hundred
-- repetitions of a group, where NGINX's own matching goes on.
local JIT_STACK_BYTES = 1024 * 1024

--- What LuaJIT may spend on machine code. OpenResty's own LuaJIT has such limits by default; those of others are so low that the
-- way of a request is too long for them, and runs interpreted at twice the cost.
local JIT_LIMITS = { "maxtrace=8000", "maxrecord=16000", "maxirconst=4000", "maxsnap=4000", "maxmcode=40960" }

--- Dictionaries besides those of the tables.
local DICTS = {
  "balancer_ewma", "balancer_ewma_last_touched_at", "balancer_ewma_locks",
  "limit_conn", "limit_req", "otel_spans", "request_metrics", "auth_nonces", "auth_verdicts",
}

local function kernel_random(count)
  local file, err = io.open("/dev/urandom", "rb")
  local bytes = file and file:read(count)
  if file then
    file:close()
  end
  if not bytes or #bytes < count then
    error("narthex: /dev/urandom: " .. (err or "too few bytes"), 0)
  end
  return bytes
end

local function need(name)
  if not dictionaries.get(name) then
    error(('narthex: shared dictionary "%s" is not declared'):format(name), 0)
  end
end

--- Takes the configuration and loads everything. A mistake keeps NGINX from starting, or the old workers serving.
-- Phase: init.
-- @tparam string text JSON, see `narthex.config`
function M.setup(text)
  jit_opt.start(unpack(JIT_LIMITS))
  -- Refused once a regex has been compiled.
  re.opt("jit_stack_size", JIT_STACK_BYTES)
  local settings, err = config.decode(text)
  if not settings then
    error("narthex: " .. err, 0)
  end
  dictionaries.setup(settings.dictionaries)
  for _, row in ipairs(wire.TABLES) do
    need(row.dictionary)
  end
  for _, name in ipairs(DICTS) do
    need(name)
  end
  dictionaries.move()
  require("narthex.state.tables").setup()
  require("narthex.auth.digest").seed(kernel_random(20))
  for _, name in ipairs(ENTRIES) do
    local module = require("narthex." .. name)
    if module.setup then
      module.setup(settings)
    end
  end
end

--- Makes each worker's random numbers its own, and begins what each does by the clock. Phase: init_worker.
function M.worker()
  local bytes = kernel_random(20)
  math.randomseed(ngx.crc32_long(bytes:sub(17)))
  require("narthex.auth.password").seed(kernel_random(20))
  require("narthex.request.request_id").seed(kernel_random(24))
  require("narthex.state.closing").start()
  require("narthex.state.control").start()
  require("narthex.metrics.metrics").start()
end

--- Leaves nothing behind. Phase: exit_worker.
function M.leave()
  require("narthex.metrics.metrics").leave()
end

return M
