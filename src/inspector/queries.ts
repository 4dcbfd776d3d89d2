/** The query parameters of lists, and the queue of searches. */
import { z } from 'zod'
import { CARRIERS, EVENT_TYPES } from '../public/events.ts'
import { QUARANTINE_CLASSES } from '../quarantine/request.ts'
import { createLimiter } from '../runtime/concurrency.ts'
import { Refused } from './server.ts'

const text = z.string().max(1_024).optional()
const time = z
  .string()
  .transform((value) => Date.parse(value))
  .refine((ms) => !Number.isNaN(ms), 'expected a time such as 2026-01-31T12:00:00Z')
  .optional()

/** Parameters of every list. A list ignores filters that it does not have. */
const listQuery = z.object({
  type: z.enum(EVENT_TYPES).optional(),
  outcome: z.enum(['waiting', 'running', 'retrying', 'settled', 'dead']).optional(),
  carrier: z.enum(CARRIERS).optional(),
  class: z.enum(QUARANTINE_CLASSES).optional(),
  range: z.enum(['15m', '1h', '24h']).default('1h'),
  project: text,
  channel: text,
  error: text,
  code: text,
  q: text,
  /** The id of the message of the requested event. */
  of: text,
  from: time,
  to: time,
  after: text,
  limit: z.coerce.number().int().min(1).max(200).default(50),
})
export type ListQuery = z.infer<typeof listQuery>

/** Empty values are absent. Throws a `Refused` (400) for invalid parameters. */
export function readQuery(query: URLSearchParams): ListQuery {
  const read = listQuery.safeParse(Object.fromEntries([...query].filter(([, value]) => value !== '')))
  if (read.success) return read.data
  const [issue] = read.error.issues
  const name = String(issue?.path[0])
  throw new Refused(400, 'query_invalid', `The parameter ${name} is invalid: ${issue?.message ?? ''}.`)
}

/** Limits the searches of all inspectors in this process, so that they do not delay callbacks. */
export const inTurn = createLimiter({
  atOnce: 2,
  mostWaiting: 20,
  full() {
    return new Refused(503, 'inspector_busy', 'Too many searches are waiting. Try again in a few seconds.', {
      'retry-after': '3',
    })
  },
})
