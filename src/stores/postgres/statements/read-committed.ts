/** First in a transaction of several statements: each sees what was committed before it began, whatever the role's default. */
export const READ_COMMITTED = /* sql */ `
SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
`
