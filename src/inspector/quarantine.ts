/** The quarantine: what was refused and why, grouped by cause; verifying it again, and clearing it. */
import { z } from 'zod'
import type { Clock } from '../runtime/clock.ts'
import { ERRORS } from '../public/error-table.ts'
import { everyPage } from '../inbox/pages.ts'
import { isRecord } from '../runtime/values.ts'
import { QUARANTINE_CLASSES, type QuarantineClass } from '../quarantine/request.ts'
import type { Quarantine, QuarantinedRequest } from '../quarantine/surface.ts'
import { shownBody } from './masking.ts'
import type { Rights } from './options.ts'
import { isoOf } from './rows.ts'
import { limitIn, textIn, wordIn } from './queries.ts'
import type { ClearResult, QuarantineList, ReverifyResult } from './shapes.ts'

/** So many are grouped, and looked through for those of a class or code that few have. */
const MOST_LOOKED_AT = 1_000
const A_LOOK = 200
const FRESH_MS = 5_000
const FARTHEST_SECONDS = 10_000_000_000

export const reverifySchema = z.strictObject({
  dryRun: z.boolean(),
  clockOffsetSeconds: z.number().min(-FARTHEST_SECONDS).max(FARTHEST_SECONDS).optional(),
})

export const clearSchema = z.strictObject({})

/** What requests look like: for each class its name, what is behind it most of the time, and what it means. */
const CLASSES: Readonly<Record<QuarantineClass, readonly [label: string, guess: string, what: string]>> = {
  provedButStale: [
    'Real, wrong time',
    'wrong clock?',
    'The signature is right and only its time is not: a wrong clock, or a replay.',
  ],
  unverified: [
    'Not verified yet',
    'credentials unavailable?',
    'The credentials could not be looked up; it is verified again by itself.',
  ],
  looksLikeOurs: [
    'Probably real: wrong secret?',
    'wrong secret?',
    'A callback with a proof that no live key made: a wrong secret, or a forgery.',
  ],
  rest: ['Unknown sender', 'unknown sender', 'Anything else: mostly not from the service.'],
}

export interface Kept {
  list(query: URLSearchParams, rights: Rights): Promise<QuarantineList>
  groups(): Promise<QuarantineList['groups']>
  reverify(asked: z.infer<typeof reverifySchema>): Promise<ReverifyResult>
  clear(): ClearResult
}

export function createKept(quarantine: Quarantine, clock: Clock): Kept {
  let grouped:
    { readonly untilMs: number; readonly size: number; readonly groups: QuarantineList['groups'] } | undefined

  async function groups(): Promise<QuarantineList['groups']> {
    const { size } = quarantine
    if (grouped?.size === size && clock.now() < grouped.untilMs) return grouped.groups
    const found = new Map<string, QuarantineList['groups'][number]>()
    let seen = 0
    for await (const { items } of everyPage((after) => quarantine.list({ after, limit: A_LOOK }))) {
      for (const item of items) {
        const { class: name, code } = item
        const { project } = idsIn(item)
        const at = isoOf(item.arrivedAt.getTime())
        const key = JSON.stringify([name, code, project])
        const known = found.get(key)
        const { count, since } = known ?? { count: 0, since: at }
        const [, guess] = CLASSES[name]
        const why = ERRORS[code].join(' ')
        found.set(key, { class: name, guess, code, why, project, count: count + 1, since, last: at })
      }
      seen += items.length
      if (seen >= MOST_LOOKED_AT) break
    }
    const rank = (name: string): number => QUARANTINE_CLASSES.findIndex((each) => each === name)
    const sorted = [...found.values()].sort((a, b) => rank(a.class) - rank(b.class) || b.count - a.count)
    grouped = { untilMs: clock.now() + FRESH_MS, size, groups: sorted }
    return sorted
  }

  return {
    groups,
    async list(query, rights) {
      const name = wordIn(query, 'class', QUARANTINE_CLASSES)
      const [code, project] = [textIn(query, 'code'), textIn(query, 'project')]
      const limit = limitIn(query)
      const { bytes, dropped, ...counts } = quarantine.counts()
      const items: QuarantinedRequest[] = []
      const given = textIn(query, 'after')
      let after = given !== undefined && /^\d+$/.test(given) ? given : undefined
      for (let looked = 0; looked < MOST_LOOKED_AT * 4 && items.length < limit; looked += A_LOOK) {
        const page = await quarantine.list({ after, limit: name === undefined && code === undefined ? limit : A_LOOK })
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
      return {
        counts,
        bytes,
        dropped,
        classes: QUARANTINE_CLASSES.map((each) => ({ name: each, label: CLASSES[each][0], what: CLASSES[each][2] })),
        groups: await groups(),
        items: items.map((item) => shown(item, rights)),
        next: after,
      }
    },
    async reverify({ dryRun, clockOffsetSeconds }) {
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

function shown(item: QuarantinedRequest, rights: Rights): QuarantineList['items'][number] {
  const { id, class: name, arrivedAt, kind, code, offsetSeconds, bytes, payload } = item
  return {
    id,
    class: name,
    arrivedAt: arrivedAt.toISOString(),
    kind,
    code,
    ...idsIn(item),
    offsetSeconds,
    bytes,
    payload: payload && shownBody(JSON.stringify(payload), rights, 'authKey'),
  }
}

const LONGEST_ID = 128

/** What it says of itself; nothing proves it. */
function idsIn({ payload = {} }: QuarantinedRequest): { readonly messageId?: string; readonly project?: string } {
  const { messageId, project, statuses } = payload
  const id = messageId ?? (isRecord(statuses) ? statuses['message_id'] : undefined)
  return {
    ...(typeof id === 'string' && { messageId: id.slice(0, LONGEST_ID) }),
    ...(typeof project === 'string' && { project: project.slice(0, LONGEST_ID) }),
  }
}
