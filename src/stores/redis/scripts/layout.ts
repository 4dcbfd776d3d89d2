/**
 * Enters the layout of the keys under a prefix, unless there is one. KEYS[1]: where it stands. ARGV: version, partitions.
 * Returns what stands there.
 */
export const LAYOUT = /* lua */ `
if redis.call('EXISTS', KEYS[1]) == 0 then
  redis.call('HSET', KEYS[1], 'version', ARGV[1], 'partitions', ARGV[2])
end
return redis.call('HMGET', KEYS[1], 'version', 'partitions')
`
