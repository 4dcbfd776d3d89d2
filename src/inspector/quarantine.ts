/** The quarantine: refused requests grouped by cause, verified again, and cleared. */
import { z } from 'zod'
import type { Clock } from '../runtime/clock.ts'
import { createReading } from '../runtime/concurrency.ts'
import { ERRORS } from '../public/error-table.ts'
import { everyPage } from '../inbox/lists.ts'
import { comparable } from '../runtime/recipient-forms.ts'
import { QUARANTINE_CLASSES, type QuarantineClass } from '../quarantine/request.ts'
import { claimsIn, type Quarantine, type QuarantinedRequest } from '../quarantine/surface.ts'
import type { ListQuery } from './server.ts'

/** Maximum number of requests grouped, and examined for a page of a rare class or code. */
const MAX_GROUPED = 1_000
const MAX_EXAMINED = 4_000
const A_LOOK = 200
const FRESH_MS = 1_000
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

export type Kept = ReturnType<typeof createKept>

export function createKept(quarantine: Quarantine, clock: Clock) {
  const grouping = createReading(clock, FRESH_MS, groupFirst)

  /** Groups the first thousand by class, code and project. The largest of a class comes first. */
  async function groupFirst() {
    const first: QuarantinedRequest[] = []
    for await (const { items } of everyPage((after) => quarantine.list({ after, limit: A_LOOK }))) {
      first.push(...items)
      if (first.length >= MAX_GROUPED) break
    }
    const groups = Map.groupBy(first, (item) => JSON.stringify([item.class, item.code, claimedBy(item).project]))
    return [...groups.values()]
      .flatMap(([oldest, ...later]) => {
        if (oldest === undefined) return []
        const { class: name, code, arrivedAt } = oldest
        return {
          class: name,
          /** Such as `wrong secret?`. */
          guess: CLASSES[name][1],
          code,
          /** The message of the error code. */
          why: ERRORS[code].join(' '),
          project: claimedBy(oldest).project,
          count: later.length + 1,
          since: arrivedAt,
          last: (later.at(-1) ?? oldest).arrivedAt,
        }
      })
      .sort((a, b) => QUARANTINE_CLASSES.indexOf(a.class) - QUARANTINE_CLASSES.indexOf(b.class) || b.count - a.count)
  }

  return {
    groups: () => grouping.get(),
    /** Counts the refused requests about a message or recipient. Undefined without one. */
    async about(q: string) {
      // Most quarantines are empty.
      if (quarantine.size === 0) return undefined
      let [count, looked] = [0, 0]
      let since: Date | undefined
      for await (const { items } of everyPage((after) => quarantine.list({ after, limit: A_LOOK }))) {
        const found = items.filter((item) => isAbout(item, q))
        since ??= found[0]?.arrivedAt
        count += found.length
        looked += items.length
        if (looked >= MAX_EXAMINED) break
      }
      return since && { count, since }
    },
    async list({ class: name, code, project, q, after: begin, limit }: ListQuery) {
      const items: QuarantinedRequest[] = []
      let after = begin !== undefined && /^\d+$/.test(begin) ? begin : undefined
      for (let looked = 0; looked < MAX_EXAMINED && items.length < limit; looked += limit) {
        const page = await quarantine.list({ after, limit })
        const fitting = page.items.filter(
          (item) =>
            (name === undefined || item.class === name) &&
            (code === undefined || item.code === code) &&
            (q === undefined || isAbout(item, q)) &&
            (project === undefined || claimedBy(item).project === project),
        )
        items.push(...fitting)
        after = page.next
        if (after === undefined) break
      }
      const rows = items.map((item) => ({
        ...item,
        ...claimedBy(item),
        label: CLASSES[item.class][0],
        payload: item.payload && JSON.stringify(item.payload),
      }))
      const { size } = quarantine
      return { counts: quarantine.counts(), size, groups: await grouping.get(), items: rows, next: after }
    },
    async reverify({ dryRun, clockOffsetSeconds }: z.infer<typeof reverifySchema>) {
      const counts = await quarantine.reverify({ dryRun, clockOffsetSeconds })
      grouping.forget()
      return { dryRun, ...counts }
    },
    clear() {
      const cleared = quarantine.size
      quarantine.clear()
      grouping.forget()
      return { cleared }
    },
  }
}

const LONGEST_ID = 128

function claimedBy(item: QuarantinedRequest) {
  const { messageId, project, recipient } = claimsIn(item)
  const cut = (text: string | undefined): string | undefined => text?.slice(0, LONGEST_ID)
  return { messageId: cut(messageId), project: cut(project), recipient: cut(recipient) }
}

/** Whether the request has this id, or its body names this message or recipient. */
function isAbout(item: QuarantinedRequest, wanted: string): boolean {
  const { messageId, recipient } = claimsIn(item)
  if (item.id === wanted || messageId === wanted) return true
  return recipient !== undefined && comparable(recipient) === comparable(wanted)
}
