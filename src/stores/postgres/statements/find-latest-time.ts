/** The latest time that was told; 0 for none. */
export const FIND_LATEST_TIME = /* sql */ `
SELECT told FROM {schema}.latest_time
`
