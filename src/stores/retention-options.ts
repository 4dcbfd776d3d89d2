/** The options of every durable store for how long it keeps data. */
import { z } from 'zod'
import { daysAboveZero } from '../runtime/check-options.ts'

export const RETENTION_OPTIONS = {
  /** How long the payloads of settled events are kept. Default 7 days. */
  retentionDays: daysAboveZero.default(7),
  /** How long dead letters are kept. Default 30 days. */
  deadLetterDays: daysAboveZero.default(30),
  /** How long duplicates are recognised, at least as long as payloads are kept. Default 30 days. */
  dedupeDays: daysAboveZero.default(30),
}

export const retentionSchema = z.strictObject(RETENTION_OPTIONS)
