/** What lists are asked for, and how often the store is read for it. */
import { z } from 'zod'
import { CARRIERS, EVENT_TYPES } from '../public/events.ts'
import { QUARANTINE_CLASSES } from '../quarantine/request.ts'
import type { Clock } from '../runtime/clock.ts'
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
  /** The message of the requested event. */
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
  throw new Refused(400, 'query_invalid', `The parameter ${name} cannot be used: ${issue?.message ?? ''}.`)
}

/** Of all inspectors in this process. */
const AT_ONCE = 2
const MOST_WAITING = 20

let running = 0
const waiting: (() => void)[] = []

/**
 * Runs a search when its turn comes, so that callbacks are answered as before however many people search. Rejects with a
 * `Refused` (503) if too many wait.
 */
export async function inTurn<T>(look: () => Promise<T>): Promise<T> {
  if (running >= AT_ONCE) {
    if (waiting.length >= MOST_WAITING) {
      const busy = `${AT_ONCE} searches run and ${MOST_WAITING} wait. Try again in some seconds.`
      throw new Refused(503, 'inspector_busy', busy, { 'retry-after': '3' })
    }
    await new Promise<void>((resolve) => waiting.push(resolve))
  } else running += 1
  try {
    return await look()
  } finally {
    const next = waiting.shift()
    // The next one takes its place.
    if (next === undefined) running -= 1
    else next()
  }
}

/** A reading that takes long is used for longer: reading takes at most this share of the time. */
const SHARE = 20

/** Reads once for all who ask within `freshForMs`. `forget` makes the next one read again. A failure is not kept. */
export function createReading<T>(clock: Clock, freshForMs: number, read: () => Promise<T>) {
  let latest: { readonly value: Promise<T>; doneAtMs?: number; freshForMs: number } | undefined

  return {
    get(): Promise<T> {
      const begunMs = clock.now()
      const isFresh = latest?.doneAtMs === undefined || Math.abs(begunMs - latest.doneAtMs) < latest.freshForMs
      if (latest !== undefined && isFresh) return latest.value
      const reading: NonNullable<typeof latest> = { value: read(), freshForMs }
      latest = reading
      const done = (): void => {
        reading.doneAtMs = clock.now()
        reading.freshForMs = Math.max(freshForMs, SHARE * (reading.doneAtMs - begunMs))
      }
      const forget = (): void => {
        if (latest === reading) latest = undefined
      }
      reading.value.then(done, forget)
      return reading.value
    },
    forget(): void {
      latest = undefined
    },
  }
}
