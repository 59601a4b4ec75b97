--- Texts of clients in the JSON form of the access log.
--
-- NGINX escapes for JSON what JSON's syntax needs, and leaves bytes that are no UTF-8 as they are; then a line is no JSON. Where a request
-- has bytes beyond ASCII, which a regular expression of the configuration finds, its texts are written again, in ASCII.
-- @module narthex.metrics.json_log

local byte = string.byte
local find = string.find
local format = string.format
local gsub = string.gsub

--- `in_use`: whether the access log has this form.
local M = { in_use = false }

--- Pairs of the variable that the log shows in the place of another one, and that other one.
local TEXTS = {
  { "narthex_ascii_host", "host" },
  { "narthex_ascii_path", "request_uri" },
  { "narthex_ascii_user", "remote_user" },
  { "narthex_ascii_referer", "http_referer" },
  { "narthex_ascii_agent", "http_user_agent" },
  { "narthex_ascii_id", "req_id" },
}

--- Takes the global settings. Phase: init.
-- @tparam table config from `narthex.config`
function M.setup(config)
  M.in_use = config.json_log
end

local function hex(one)
  return format("\\x%02X", byte(one))
end

--- Writes the texts of a request again where they are not ASCII: `\xHH`, as other logs have it. Phase: log.
-- @tparam table var `ngx.var`
function M.fill(var)
  if var.narthex_beyond_ascii ~= "1" then
    return
  end
  for i = 1, #TEXTS do
    local value = var[TEXTS[i][2]]
    if value and find(value, "[\128-\255]") then
      var[TEXTS[i][1]] = gsub(value, "[\128-\255]", hex)
    end
  end
end

return M
