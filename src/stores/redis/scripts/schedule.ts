/** Lua: enters a message in the due set for its first event, not before its lease ends; or takes it out where it has none. */
export const SCHEDULE = /* lua */ `
local function schedule(mk)
  local first = redis.call('ZRANGE', waitingOf(mk), 0, 0)[1]
  if not first then
    redis.call('ZREM', KEYS[1], mk)
    return
  end
  local due = tonumber(redis.call('HGET', eventOf(mk, idAt(first)), 'D')) or now
  local leaseEnd = tonumber(redis.call('HGET', messageOf(mk), 'u'))
  redis.call('ZADD', KEYS[1], ms(math.max(due, leaseEnd or due)), mk)
end
`
