--- The OCSP response that goes with a certificate, while it is valid. The controller has checked it (`docs/live-protocol.md`).
-- @module narthex.tls.staple

local ngx = ngx
local ocsp = require("ngx.ocsp")
local tables = require("narthex.state.tables")

local decode_base64 = ngx.decode_base64
local match = string.match
local time = ngx.time
local tonumber = tonumber

local M = {}

local records, PREFIX = tables.BY_NAME.staple.dict, tables.BY_NAME.staple.prefix

local function decode(text)
  local ends, encoded = match(text, "^(%d+) (%S+)$")
  return { text = text, ends = tonumber(ends) or 0, response = encoded and decode_base64(encoded) }
end

--- The response as it is now; `known`: as it was.
local function read(address, known)
  local text = records:get(PREFIX .. address)
  if not text or known and known.text == text then
    return text and known
  end
  return decode(text)
end

--- Staples the response for a certificate, if there is one and the client asks for it. Phase: ssl_cert.
-- @tparam string address content address of the key pair
-- @tparam table pair in which `staple` and `staple_revision` are this module's
-- @tparam number revision of the live state
function M.set(address, pair, revision)
  if pair.staple_revision ~= revision then
    pair.staple, pair.staple_revision = read(address, pair.staple), revision
  end
  local staple = pair.staple
  if staple and staple.response and staple.ends > time() then
    local ok, err = ocsp.set_ocsp_status_resp(staple.response)
    if not ok then
      ngx.log(ngx.ERR, "certificate ", address, ": OCSP response: ", err)
    end
  end
end

return M
