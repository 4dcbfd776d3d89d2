/** The quarantine: refused requests grouped by cause, verified again, and cleared. */
import { z } from 'zod'
import type { Clock } from '../runtime/clock.ts'
import { ERRORS } from '../public/error-table.ts'
import { everyPage } from '../inbox/pages.ts'
import { isRecord } from '../runtime/values.ts'
import { QUARANTINE_CLASSES, type QuarantineClass } from '../quarantine/request.ts'
import type { Quarantine, QuarantinedRequest } from '../quarantine/surface.ts'
import { isoOf } from './rows.ts'
import type { ListQuery } from './queries.ts'

/** Maximum number of requests grouped, and examined for a page of a rare class or code. */
const MOST_GROUPED = 1_000
const MOST_LOOKED_AT = 4_000
const A_LOOK = 200
const FRESH_MS = 5_000
const FARTHEST_SECONDS = 10_000_000_000

export const reverifySchema = z.strictObject({
  dryRun: z.boolean(),
  clockOffsetSeconds: z.number().min(-FARTHEST_SECONDS).max(FARTHEST_SECONDS).optional(),
})

export const clearSchema = z.strictObject({})

/** The classes of requests: the name of each, and its usual cause. */
const CLASSES: Readonly<Record<QuarantineClass, readonly [label: string, guess: string]>> = {
  provedButStale: ['Real, wrong time', 'wrong clock?'],
  unverified: ['Not verified yet', 'credentials unavailable?'],
  looksLikeOurs: ['Probably real: wrong secret?', 'wrong secret?'],
  rest: ['Unknown sender', 'unknown sender'],
}

/** Requests with one cause. */
interface Cause {
  readonly class: QuarantineClass
  /** Such as `wrong secret?`. */
  readonly guess: string
  readonly code: string
  /** The sentence of the code. */
  readonly why: string
  readonly project: string | undefined
  readonly count: number
  readonly since: string
  readonly last: string
}

export type Kept = ReturnType<typeof createKept>

export function createKept(quarantine: Quarantine, clock: Clock) {
  let grouped: { readonly untilMs: number; readonly size: number; readonly groups: readonly Cause[] } | undefined

  /** Groups of the first thousand, by class, code and project. The largest of a class comes first. */
  async function groups(): Promise<readonly Cause[]> {
    const { size } = quarantine
    if (grouped?.size === size && clock.now() < grouped.untilMs) return grouped.groups
    const found = new Map<string, Cause>()
    let seen = 0
    for await (const { items } of everyPage((after) => quarantine.list({ after, limit: A_LOOK }))) {
      for (const item of items) {
        const { class: name, code } = item
        const { project } = idsIn(item)
        const at = isoOf(item.arrivedAt.getTime())
        const key = JSON.stringify([name, code, project])
        const { count, since } = found.get(key) ?? { count: 0, since: at }
        const why = ERRORS[code].join(' ')
        found.set(key, { class: name, guess: CLASSES[name][1], code, why, project, count: count + 1, since, last: at })
      }
      seen += items.length
      if (seen >= MOST_GROUPED) break
    }
    const rank = (name: string): number => QUARANTINE_CLASSES.findIndex((each) => each === name)
    const sorted = [...found.values()].sort((a, b) => rank(a.class) - rank(b.class) || b.count - a.count)
    grouped = { untilMs: clock.now() + FRESH_MS, size, groups: sorted }
    return sorted
  }

  return {
    groups,
    async list({ class: name, code, project, after: begin, limit }: ListQuery) {
      const items: QuarantinedRequest[] = []
      let after = begin !== undefined && /^\d+$/.test(begin) ? begin : undefined
      for (let looked = 0; looked < MOST_LOOKED_AT && items.length < limit; looked += limit) {
        const page = await quarantine.list({ after, limit })
        const fitting = page.items.filter(
          (item) =>
            (name === undefined || item.class === name) &&
            (code === undefined || item.code === code) &&
            (project === undefined || idsIn(item).project === project),
        )
        items.push(...fitting)
        after = page.next
        if (after === undefined) break
      }
      const rows = items.map(({ payload, ...item }) => ({
        ...item,
        ...idsIn({ payload }),
        label: CLASSES[item.class][0],
        arrivedAt: isoOf(item.arrivedAt.getTime()),
        payload: payload && JSON.stringify(payload),
      }))
      return { counts: quarantine.counts(), size: quarantine.size, groups: await groups(), items: rows, next: after }
    },
    async reverify({ dryRun, clockOffsetSeconds }: z.infer<typeof reverifySchema>) {
      grouped = undefined
      return { dryRun, ...(await quarantine.reverify({ dryRun, clockOffsetSeconds })) }
    },
    clear() {
      grouped = undefined
      const cleared = quarantine.size
      quarantine.clear()
      return { cleared }
    },
  }
}

const LONGEST_ID = 128

/** What the request claims; nothing proves it. */
function idsIn({ payload = {} }: { readonly payload?: Readonly<Record<string, unknown>> | undefined }) {
  const { messageId, project, statuses } = payload
  const cut = (value: unknown): string | undefined =>
    typeof value === 'string' ? value.slice(0, LONGEST_ID) : undefined
  return {
    messageId: cut(messageId ?? (isRecord(statuses) ? statuses['message_id'] : undefined)),
    project: cut(project),
  }
}
