/** It is so late; another process may have seen a later time. */
export const TELL_TIME = /* sql */ `
UPDATE latest_time SET told = max(told, :now)
`
