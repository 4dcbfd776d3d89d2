/** The settings that the stores on Postgres and MySQL share, with their defaults. */
import { z } from 'zod'
import { wholeNumberFrom } from '../../runtime/check-options.ts'
import { daysAboveZero, millisecondsAboveZero } from '../bounds.ts'

const MOST_CONNECTIONS = 10_000

export const SQL_SETTINGS = {
  transactional: z.boolean().default(false),
  maxConnections: wholeNumberFrom(1, MOST_CONNECTIONS).default(10),
  retentionDays: daysAboveZero.default(7),
  deadLetterDays: daysAboveZero.default(30),
  dedupeDays: daysAboveZero.default(30),
  connectTimeoutMs: millisecondsAboveZero.default(5_000),
  queryTimeoutMs: millisecondsAboveZero.default(10_000),
  lockTimeoutMs: millisecondsAboveZero.default(3_000),
  clock: z.enum(['server', 'caller']).default('server'),
}
