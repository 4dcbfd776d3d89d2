/** Dead letters: grouped by error, filtered, listed newest first, replayed and discarded. */
import { createHash } from 'node:crypto'
import { z } from 'zod'
import type { DeadLetters } from '../dispatch/dead-letters.ts'
import { isOurs } from '../public/errors.ts'
import { nextTurn } from '../runtime/clock.ts'
import { createReading } from '../runtime/concurrency.ts'
import { everyPage } from '../inbox/lists.ts'
import type { StoredDeadLetter } from '../messages/views.ts'
import type { Inspection } from '../receiver/inspection.ts'
import { errorClass } from './masking.ts'
import type { Rights } from './options.ts'
import { rowOf, type EventRow, type Known } from './rows.ts'
import type { ListQuery } from './server.ts'

/** Maximum number of dead letters examined. Stores list the oldest first, while readers want the newest. */
const MAX_LOOKED_AT = 20_000
const A_LOOK = 200
const FRESH_MS = 2_000

export const CHANGES = ['replay', 'force', 'discard'] as const
type Change = (typeof CHANGES)[number]

export const idsSchema = z.strictObject({ ids: z.array(z.string().min(1).max(128)).min(1).max(500) })

/** The cached part of a dead letter, without its body and its whole error. */
interface Letter {
  readonly id: string
  readonly type: string | undefined
  readonly project: string | undefined
  readonly diedAtMs: number
  readonly group: string
  /** The place in the list. The id orders dead letters of one millisecond. */
  readonly place: string
  /** The `after` of the store's page that contains it. */
  readonly after: string | undefined
}

/** The first line of each group's error. */
type Errors = Map<string, string>

export type Letters = ReturnType<typeof createLetters>

export function createLetters(inspection: Inspection, deadLetters: Pick<DeadLetters, 'replay' | 'discard'>) {
  const { clock } = inspection
  const reading = createReading(clock, FRESH_MS, lookAtAll)

  /** Reads the dead letters, newest first. */
  async function lookAtAll() {
    const letters: Letter[] = []
    const errors: Errors = new Map()
    let after: string | undefined
    for await (const { items, next } of everyPage((from) =>
      inspection.scan({ of: 'deadLetters', after: from, limit: A_LOOK }),
    )) {
      for (const letter of items) {
        const { id, diedAtMs, record, error } = letter
        const { project } = record
        const group = groupOf(error)
        if (!errors.has(group)) errors.set(group, firstLine(error))
        const place = `${diedAtMs} ${id}`
        letters.push({ id, type: inspection.typeOf(asKnown(letter)), project, diedAtMs, group, place, after })
      }
      after = next
      if (letters.length >= MAX_LOOKED_AT) break
      // Let callbacks run in between.
      await nextTurn(clock)
    }
    letters.sort((a, b) => (a.place < b.place ? 1 : -1))
    return { letters, errors, isCut: after !== undefined }
  }

  async function rowsOf(letters: readonly Letter[]): Promise<readonly EventRow[]> {
    const stored = new Map<string, StoredDeadLetter>()
    for (const after of new Set(letters.map((letter) => letter.after)))
      for (const each of (await inspection.scan({ of: 'deadLetters', after, limit: A_LOOK })).items)
        stored.set(each.id, each)
    return letters.flatMap(({ id }) => {
      const letter = stored.get(id)
      if (letter === undefined) return []
      const row = rowOf(asKnown(letter), inspection.typeOf)
      // Reports of most channels do not name the recipient; the send does.
      return { ...row, recipient: row.recipient ?? letter.expected?.expectation.to }
    })
  }

  async function refusedRows(): Promise<readonly EventRow[]> {
    const found = await inspection.refused(A_LOOK)
    return found.map(({ event, error }) =>
      rowOf({ ...event, late: false, state: 'due', attempts: 0, error }, inspection.typeOf),
    )
  }

  return {
    async list(query: ListQuery, rights: Rights) {
      const { letters, errors, isCut } = await reading.get()
      const { after } = query
      const matching = letters.filter((letter) => isMatch(letter, query))
      const behind = matching.filter(({ place }) => after === undefined || place < after)
      const page = behind.slice(0, query.limit)
      return {
        items: await rowsOf(page),
        next: behind.length > page.length ? page.at(-1)?.place : undefined,
        /** `matching` of `total` dead letters match. `isCut`: the store has more than were examined. */
        matching: matching.length,
        total: letters.length,
        isCut,
        /** Events that the store refuses, on the first page. */
        refused: after === undefined ? await refusedRows() : [],
        groups: groupsOf(
          letters.filter((letter) => isMatch(letter, { ...query, error: undefined })),
          errors,
          rights,
        ),
      }
    },
    /** All dead letters, grouped by error. */
    async groups(rights: Rights) {
      const { letters, errors } = await reading.get()
      return groupsOf(letters, errors, rights)
    },
    /** The ids of all matching dead letters. */
    async ids(query: ListQuery) {
      const { letters } = await reading.get()
      return { ids: letters.filter((letter) => isMatch(letter, query)).map(({ id }) => id) }
    },
    /** Changes one dead letter at a time, so that the store stays responsive. A failure does not end the loop. */
    async change(change: Change, ids: readonly string[]) {
      const [done, missing]: [string[], string[]] = [[], []]
      const failed: { readonly id: string; readonly why: string }[] = []
      for (const id of new Set(ids)) {
        try {
          const changing =
            change === 'discard' ? deadLetters.discard(id) : deadLetters.replay(id, { force: change === 'force' })
          const list = (await changing) ? done : missing
          list.push(id)
        } catch (error) {
          // Messages of this package quote no body.
          failed.push({ id, why: isOurs(error) ? error.message : 'The store failed: see the log.' })
        }
      }
      reading.forget()
      return { done, missing, failed }
    },
  }
}

function isMatch(letter: Letter, { type, project, error, from = -Infinity, to = Infinity }: ListQuery): boolean {
  return (
    (type === undefined || type === letter.type) &&
    (project === undefined || project === letter.project) &&
    (error === undefined || error === letter.group) &&
    letter.diedAtMs >= from &&
    letter.diedAtMs < to
  )
}

/** The largest group first. */
function groupsOf(letters: readonly Letter[], errors: Errors, { reveal }: Rights) {
  return [...Map.groupBy(letters, ({ group }) => group)]
    .map(([id, [newest, ...older]]) => ({
      id,
      cause: reveal ? (errors.get(id) ?? '') : errorClass(errors.get(id) ?? ''),
      count: older.length + 1,
      since: new Date((older.at(-1) ?? newest)?.diedAtMs ?? 0),
      last: new Date(newest?.diedAtMs ?? 0),
    }))
    .sort((a, b) => b.count - a.count)
}

const LONGEST_LINE = 300

function firstLine(error: string): string {
  const [line = ''] = error.split('\n', 1)
  return line.slice(0, LONGEST_LINE)
}

/** Groups errors that differ only in numbers, ids and quoted texts. The name of a group reveals none of these. */
function groupOf(error: string): string {
  const plain = firstLine(error)
    .replace(/(["'`“‘]).*?(["'`”’])/g, '…')
    .replace(/\S*\d\S*/g, '…')
  return createHash('sha256').update(plain).digest('hex').slice(0, 12)
}

function asKnown(letter: StoredDeadLetter): Known {
  return { ...letter, state: 'dead', endedAtMs: letter.diedAtMs }
}
