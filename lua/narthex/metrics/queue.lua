--- Batches of request metrics on their way from the workers to the controller, in a shared dictionary, which outlives reloads.
--
-- The controller fetches them over the control socket. What it was sent is kept until it says that it has it, so that an answer that gets
-- lost loses nothing, and a batch has a number, so that nothing counts twice.
-- @module narthex.metrics.queue

local ngx = ngx
local dictionaries = require("narthex.state.dictionaries")

local concat = table.concat
local match = string.match

local M = {}

local WAITING, SENT, NUMBER = "waiting", "sent", "number"
--- Batches that wait before workers go on adding up instead: the controller is away.
local MOST_WAITING = 256
--- Batches in an answer.
local MOST_SENT = 16

local dict = dictionaries.get("request_metrics")

--- Adds a batch. Phase: any with `ngx.shared`.
-- @tparam string text
-- @tparam boolean must whether it is the worker's last chance
-- @treturn ?boolean true if it was taken
-- @treturn ?string why not
function M.push(text, must)
  local waiting, err = dict:llen(WAITING)
  if not waiting then
    return nil, err
  end
  if waiting >= MOST_WAITING and not must then
    return nil, "the controller does not fetch them"
  end
  waiting, err = dict:rpush(WAITING, text)
  return waiting and true, err
end

--- Takes over what workers of before have handed over, where the size of the dictionary has changed since. Phase: content.
function M.drain()
  dictionaries.drain("request_metrics", WAITING)
end

local function pop()
  local texts = {}
  for i = 1, MOST_SENT do
    local text = dict:lpop(WAITING)
    if not text then
      break
    end
    texts[i] = text
  end
  return texts
end

--- Puts batches back in front of the others.
local function put_back(texts, why)
  for i = #texts, 1, -1 do
    local ok, err = dict:lpush(WAITING, texts[i])
    if not ok then
      ngx.log(ngx.ERR, "request metrics: a batch is lost: ", why, ", then ", err)
    end
  end
end

--- The next batches, or once more those that were not acknowledged. Phase: content.
-- @tparam ?string done number of what the controller has
-- @treturn string a line with the number, then the batches; empty if there is nothing
function M.take(done)
  M.drain()
  local sent = dict:get(SENT)
  if sent then
    if match(sent, "^%d+") ~= done then
      return sent
    end
    dict:delete(SENT)
  end
  local texts = pop()
  if #texts == 0 then
    return ""
  end
  -- A number that no earlier NGINX is likely to have used.
  local number, err = dict:incr(NUMBER, 1, ngx.now() * 1000)
  local text = number and ("%.0f\n"):format(number) .. concat(texts)
  local ok
  if text then
    -- Another answer may be on its way to a reader that gave up.
    ok, err = dict:safe_add(SENT, text)
  end
  if not ok then
    put_back(texts, err)
    return ""
  end
  return text
end

return M
