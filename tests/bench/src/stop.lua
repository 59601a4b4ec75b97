-- Ends each connection of wrk with an answer, when its time is over: none is on its way then, so that every request was counted.
-- With one connection a thread.
local deadline

function init(args)
  deadline = os.time() + tonumber(args[1])
end

function response()
  if os.time() >= deadline then
    wrk.thread:stop()
  end
end
