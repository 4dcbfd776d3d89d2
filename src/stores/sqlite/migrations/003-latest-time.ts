/** One row: the latest time that the store was told, for the machine's clock may be set back. */
export const LATEST_TIME = /* sql */ `
CREATE TABLE latest_time (told INTEGER NOT NULL) STRICT;
INSERT INTO latest_time VALUES (0);
`
