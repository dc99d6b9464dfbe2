-- A reader for wrk: asks for one address again and again, with one token after the other, because
-- each has a rate of its own.  Arguments: path, file with tokens, what to send as If-None-Match.

function init(args)
  path, tag, tokens, sent = args[1], args[3] or "", {}, 0
  for token in io.lines(args[2]) do tokens[#tokens + 1] = token end
  fresh, unchanged, other = 0, 0, 0
end

function request()
  sent = sent + 1
  local headers = { Authorization = "Bearer " .. tokens[sent % #tokens + 1] }
  if tag ~= "" then headers["If-None-Match"] = tag end
  return wrk.format("GET", path, headers)
end

local threads = {}
function setup(thread)
  threads[#threads + 1] = thread
end

function response(status)
  if status == 200 then fresh = fresh + 1
  elseif status == 304 then unchanged = unchanged + 1
  else other = other + 1 end
end

function done(summary, latency)
  local said = {}
  for _, name in ipairs({ "fresh", "unchanged", "other" }) do
    local sum = 0
    for _, thread in ipairs(threads) do sum = sum + thread:get(name) end
    said[#said + 1] = string.format('"%s": %d', name, sum)
  end
  said[#said + 1] = string.format('"seconds": %.6f', summary.duration / 1e6)
  said[#said + 1] = string.format('"p50": %.3f', latency:percentile(50) / 1e3)
  said[#said + 1] = string.format('"p99": %.3f', latency:percentile(99) / 1e3)
  io.stderr:write("{" .. table.concat(said, ", ") .. "}\n")
end
