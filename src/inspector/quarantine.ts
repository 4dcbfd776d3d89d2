/** The quarantine: what was refused and why, and verifying it again. */
import { z } from 'zod'
import { ERRORS } from '../error-table.ts'
import { QUARANTINE_CLASSES } from '../quarantine/request.ts'
import type { Quarantine, QuarantinedRequest } from '../quarantine/surface.ts'
import { printed } from './json-text.ts'
import { maskedValue, withoutPhones } from './masking.ts'
import { limitIn, textIn, wordIn } from './queries.ts'
import type { Rights } from './rights.ts'
import type { QuarantineList, ReverifyResult } from './shapes.ts'

const A_PAGE = 50
const MOST_A_PAGE = 200
const MOST_SHOWN_BYTES = 16 * 1024
/** Of a class that few belong to, so many pages are looked through at once. */
const MOST_PAGES = 20
const FARTHEST_SECONDS = 10_000_000_000

export const reverifySchema = z.strictObject({
  dryRun: z.boolean(),
  clockOffsetSeconds: z.number().min(-FARTHEST_SECONDS).max(FARTHEST_SECONDS).optional(),
})

/** GET api/quarantine. */
export async function listQuarantine(
  quarantine: Quarantine,
  query: URLSearchParams,
  rights: Rights,
): Promise<QuarantineList> {
  const wanted = wordIn(query, 'class', QUARANTINE_CLASSES)
  const limit = limitIn(query, A_PAGE, MOST_A_PAGE)
  const { bytes, dropped, ...counts } = quarantine.counts()
  const items: QuarantinedRequest[] = []
  let after = cursorOf(textIn(query, 'after'))
  for (let pages = 0; pages < MOST_PAGES && items.length < limit; pages += 1) {
    const page = await quarantine.list({ ...(after !== undefined && { after }), limit: limit - items.length })
    items.push(...page.items.filter((item) => wanted === undefined || item.class === wanted))
    after = page.next
    if (after === undefined) break
  }
  return {
    counts,
    bytes,
    dropped,
    items: items.map((item) => shown(item, rights)),
    ...(after !== undefined && { next: after }),
  }
}

function cursorOf(after: string | undefined): string | undefined {
  return after !== undefined && /^\d+$/.test(after) ? after : undefined
}

function shown(item: QuarantinedRequest, { reveal }: Rights): QuarantineList['items'][number] {
  const { id, class: name, arrivedAt, kind, code, offsetSeconds, bytes, payload } = item
  return {
    id,
    class: name,
    arrivedAt: arrivedAt.toISOString(),
    ...(kind !== undefined && { kind }),
    code,
    why: ERRORS[code].join(' '),
    ...(offsetSeconds !== undefined && { offsetSeconds }),
    bytes,
    ...(payload !== undefined && {
      payload: printed(JSON.stringify(payload), {
        replace: reveal ? (_, text) => text : maskedValue,
        nameOf: reveal ? (field) => field : withoutPhones,
        without: 'authKey',
        mostCharacters: MOST_SHOWN_BYTES,
      }),
    }),
  }
}

/** POST api/quarantine/reverify. */
export async function reverify(
  quarantine: Quarantine,
  { dryRun, clockOffsetSeconds }: z.infer<typeof reverifySchema>,
): Promise<ReverifyResult> {
  const counts = await quarantine.reverify({ dryRun, ...(clockOffsetSeconds !== undefined && { clockOffsetSeconds }) })
  return { dryRun, ...counts }
}
