/** Code that follows the service's documentation without a library: digest, age, JSON, fields. */
import { createHmac, timingSafeEqual } from 'node:crypto'
import { z } from 'zod'
import { SIGNING_SECRET } from '../load/secrets.ts'

const reportSchema = z.object({
  project: z.string(),
  messageId: z.string(),
  channel: z.string(),
  status: z.string(),
  network: z.string().optional(),
  type: z.string().optional(),
  timestamp: z.int(),
})

export type VerifiedReport = z.infer<typeof reportSchema>

const HEADER = /^t=(\d+),v1=([0-9a-f]{64})$/
const TOLERANCE_SECONDS = 300

/** The report, or undefined if it is not authentic. Throws if the body is not a report. */
export function verifyByHand(body: Buffer, header: string | readonly string[] | undefined): VerifiedReport | undefined {
  const [, t, digest] = HEADER.exec(typeof header === 'string' ? header : '') ?? []
  if (t === undefined || digest === undefined) return undefined
  if (Math.abs(Date.now() / 1_000 - Number(t)) > TOLERANCE_SECONDS) return undefined
  const expected = createHmac('sha256', SIGNING_SECRET).update(`${t}.`).update(body).digest()
  if (!timingSafeEqual(expected, Buffer.from(digest, 'hex'))) return undefined
  return reportSchema.parse(JSON.parse(body.toString('utf8')))
}

/** The same for every repetition of a report. BullMQ's ids must not contain a colon. */
export function identityOf({ messageId, status, timestamp }: VerifiedReport): string {
  return `${messageId}/${status}/${timestamp}`
}
