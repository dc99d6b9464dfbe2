-- A sender for wrk: posts one body again and again, each time as a new batch, and notes the answers.
-- Arguments: path, token, content type, file with the body, first step, mean pause in milliseconds.
-- Pauses are exponential, so that many senders with long pauses arrive as independent people do: a
-- late answer to one does not keep the others from sending.  None is longer than four times the
-- mean: the server ends a connection that is silent for five seconds.
-- Each answer tells the step that the next batch must name.

local threads = {}

function setup(thread)
  threads[#threads + 1] = thread
  thread:set("place", #threads)
end

function init(args)
  local file = io.open(args[4], "rb")
  body = file:read("*a")
  file:close()
  step, sent = args[5], 0
  local pause = tonumber(args[6])
  math.randomseed(place)
  if pause > 0 then
    delay = function() return math.min(4, -math.log(1 - math.random())) * pause end
  end
  counted, closed, busy, hasty, failed, other = 0, 0, 0, 0, 0, 0
  -- ids are new in each run: the step may still be open in which an earlier one posted
  run = string.format("%d-%d-", os.time(), place) .. tostring({}):sub(8) .. "-"
  head = "POST " .. args[1] .. " HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer " .. args[2]
    .. "\r\nContent-Type: " .. args[3] .. "\r\nContent-Length: " .. #body .. "\r\nAmeles-Batch: "
end

function request()
  sent = sent + 1
  return head .. run .. sent .. "\r\nAmeles-Step: " .. step .. "\r\n\r\n" .. body
end

function response(status, headers, answer)
  step = answer:match('"step":(%d+)') or step
  if status == 200 then
    counted = counted + 1
  elseif status == 409 then
    closed = closed + 1
  elseif status == 429 then
    busy = busy + 1
    if not (headers["Retry-After"] or headers["retry-after"]) then hasty = hasty + 1 end
  elseif status >= 500 then
    failed = failed + 1
  else
    other = other + 1
  end
end

function done(summary, latency, requests)
  local names = { "counted", "closed", "busy", "hasty", "failed", "other" }
  local said = {}
  for _, name in ipairs(names) do
    local sum = 0
    for _, thread in ipairs(threads) do sum = sum + thread:get(name) end
    said[#said + 1] = string.format('"%s": %d', name, sum)
  end
  local errors = summary.errors
  said[#said + 1] = string.format('"unanswered": %d', errors.connect + errors.read + errors.write)
  said[#said + 1] = string.format('"seconds": %.6f', summary.duration / 1e6)
  said[#said + 1] = string.format('"p50": %.3f', latency:percentile(50) / 1e3)
  said[#said + 1] = string.format('"p99": %.3f', latency:percentile(99) / 1e3)
  said[#said + 1] = string.format('"longest": %.3f', latency.max / 1e3)
  io.stderr:write("{" .. table.concat(said, ", ") .. "}\n")
end
