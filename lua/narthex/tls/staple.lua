--- The OCSP response that goes with a certificate, while it is valid. The controller has checked it (`docs/live-protocol.md`).
-- @module narthex.tls.staple

local ngx = ngx
local lrucache = require("resty.lrucache")
local ocsp = require("ngx.ocsp")
local tables = require("narthex.state.tables")

local decode_base64 = ngx.decode_base64
local match = string.match
local time = ngx.time
local tonumber = tonumber

local LIMIT = 2048

local M = {}

local records, PREFIX = tables.BY_NAME.staple.dict, tables.BY_NAME.staple.prefix
local decoded = assert(lrucache.new(LIMIT))

local function decode(text)
  local ends, encoded = match(text, "^(%d+) (%S+)$")
  return { text = text, ends = tonumber(ends) or 0, response = encoded and decode_base64(encoded) }
end

--- Staples the response for a certificate, if there is one and the client asks for it. Phase: ssl_cert.
-- @tparam string address content address of the key pair
function M.set(address)
  local text = records:get(PREFIX .. address)
  if not text then
    return
  end
  local staple = decoded:get(address)
  if not staple or staple.text ~= text then
    staple = decode(text)
    decoded:set(address, staple)
  end
  if staple.response and staple.ends > time() then
    local ok, err = ocsp.set_ocsp_status_resp(staple.response)
    if not ok then
      ngx.log(ngx.ERR, "certificate ", address, ": OCSP response: ", err)
    end
  end
end

return M
