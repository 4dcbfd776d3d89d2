/** The same damages as in one table, to events in partitions. */
import { damageSuite } from './damage-suite.ts'
import { partitionSince } from './partitions.ts'

/** Of the suite. */
const START_MS = Date.UTC(2026, 0, 1)

// So wide that they reach from then until now, or the day's own would have to be made for each damage, too.
damageSuite('damage, in partitions', /: events.*, while it waits$/, (schema) => partitionSince(schema, START_MS, 366))
