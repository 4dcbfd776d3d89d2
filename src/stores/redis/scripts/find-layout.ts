/** Reads the layout of the keys under a prefix. KEYS[1]: where it stands. Returns version and partitions, or nothing twice. */
export const FIND_LAYOUT = /* lua */ `
return redis.call('HMGET', KEYS[1], 'version', 'partitions')
`
