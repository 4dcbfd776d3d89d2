/** Stores that are open, or were when their process ended; all where :own is null. */
export const OTHER_HOLDERS = /* sql */ `
SELECT holder, name FROM holders WHERE holder IS NOT :own
`
