/** For a file whose only row was deleted. */
export const BEGIN_TIME = /* sql */ `
INSERT INTO latest_time VALUES (0)
`
