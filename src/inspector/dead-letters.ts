/** Dead letters: grouped by error, filtered, listed newest first, replayed and discarded. */
import { createHash } from 'node:crypto'
import { z } from 'zod'
import type { DeadLetters } from '../dispatch/dead-letters.ts'
import { isOurs } from '../public/errors.ts'
import { everyPage } from '../inbox/pages.ts'
import type { StoredDeadLetter } from '../inbox/store.ts'
import type { Inside } from '../receiver/inside.ts'
import { maskedError } from './masking.ts'
import type { Rights } from './options.ts'
import { isoOf, rowOf, type EventRow, type Known } from './rows.ts'
import type { ListQuery } from './queries.ts'

const MOST_AT_ONCE = 500
/** Maximum number of dead letters examined. Stores list the oldest first, while readers want the newest. */
const MOST_LOOKED_AT = 20_000
const A_LOOK = 200
const FRESH_MS = 2_000
/** Reading all dead letters takes at most this share of the time. */
const PAUSE_FOR_LOOK = 20
const LONGEST_HEAD = 300

export const CHANGES = ['replay', 'force', 'discard'] as const
type Change = (typeof CHANGES)[number]

export const idsSchema = z.strictObject({ ids: z.array(z.string().min(1).max(128)).min(1).max(MOST_AT_ONCE) })

/** What is cached of each dead letter: neither its body nor its whole error. */
interface Letter {
  readonly id: string
  readonly type: string | undefined
  readonly project: string | undefined
  readonly diedAtMs: number
  readonly group: string
  /** The page that it is on starts after this one. */
  readonly after: string | undefined
}

interface Look {
  /** Newest first. */
  readonly letters: readonly Letter[]
  /** The first line of each group's error, plain and masked. */
  readonly errors: ReadonlyMap<string, { readonly plain: string; readonly masked: string }>
  readonly isCut: boolean
}

type Age = Pick<Letter, 'diedAtMs' | 'id'>

/** The id orders dead letters of one millisecond. */
function newestFirst(a: Age, b: Age): number {
  if (a.diedAtMs !== b.diedAtMs) return b.diedAtMs - a.diedAtMs
  return a.id < b.id ? -1 : Number(a.id > b.id)
}

export type Letters = ReturnType<typeof createLetters>

export function createLetters(inside: Inside, deadLetters: Pick<DeadLetters, 'replay' | 'discard'>) {
  const { clock } = inside
  let asked: { readonly look: Promise<Look>; freshUntilMs: number } | undefined

  async function lookAtAll(): Promise<Look> {
    const letters: Letter[] = []
    const errors = new Map<string, { readonly plain: string; readonly masked: string }>()
    let isCut = false
    let after: string | undefined
    for await (const { items, next } of everyPage((from) => inside.deadLetters({ after: from, limit: A_LOOK }))) {
      for (const letter of items) {
        const { id, diedAtMs, record, error, raw } = letter
        const group = groupOf(error)
        if (!errors.has(group)) errors.set(group, { plain: headOf(error), masked: maskedError(error, raw) })
        letters.push({ id, type: inside.typeOf(asKnown(letter)), project: record.project, diedAtMs, group, after })
      }
      isCut = next !== undefined && letters.length >= MOST_LOOKED_AT
      if (isCut) break
      after = next
      // Let callbacks run in between.
      await new Promise<void>((resolve) => clock.soon(resolve))
    }
    return { letters: letters.toSorted(newestFirst), errors, isCut }
  }

  function looked(): Promise<Look> {
    const begunMs = clock.now()
    if (asked !== undefined && begunMs < asked.freshUntilMs) return asked.look
    const asking = { look: lookAtAll(), freshUntilMs: Infinity }
    asked = asking
    const done = (): void => {
      const nowMs = clock.now()
      asking.freshUntilMs = nowMs + Math.max(FRESH_MS, PAUSE_FOR_LOOK * (nowMs - begunMs))
    }
    asking.look.then(done, () => (asked = undefined))
    return asking.look
  }

  async function rowsOf(letters: readonly Letter[]): Promise<readonly EventRow[]> {
    const stored = new Map<string, StoredDeadLetter>()
    for (const after of new Set(letters.map((letter) => letter.after)))
      for (const each of (await inside.deadLetters({ after, limit: A_LOOK })).items) stored.set(each.id, each)
    return letters.flatMap(({ id }) => {
      const letter = stored.get(id)
      if (letter === undefined) return []
      const row = rowOf(asKnown(letter), inside.typeOf)
      // Reports of most channels do not name the recipient; the send does.
      return { ...row, recipient: row.recipient ?? letter.expected?.expectation.to }
    })
  }

  return {
    async list(query: ListQuery, rights: Rights) {
      const { letters, errors, isCut } = await looked()
      const others = letters.filter(isOther(query))
      const matching = others.filter(isOfGroup(query))
      const [diedAtMs, id = ''] = query.after?.split(' ') ?? ['Infinity']
      const behind = matching.filter((letter) => newestFirst({ diedAtMs: Number(diedAtMs), id }, letter) < 0)
      const page = behind.slice(0, query.limit)
      const last = page.at(-1)
      return {
        items: await rowsOf(page),
        next: last !== undefined && behind.length > page.length ? `${last.diedAtMs} ${last.id}` : undefined,
        /** How many of how many match. `isCut`: there are more than were examined. */
        matching: matching.length,
        total: letters.length,
        isCut,
        groups: groupsOf(others, errors, rights),
      }
    },
    /** All, by error. */
    async groups(rights: Rights) {
      const { letters, errors } = await looked()
      return groupsOf(letters, errors, rights)
    },
    /** All that match. */
    async ids(query: ListQuery) {
      const { letters } = await looked()
      return {
        ids: letters
          .filter(isOther(query))
          .filter(isOfGroup(query))
          .map(({ id }) => id),
      }
    },
    /** One after the other, so that the store stays responsive. A failure does not end the loop. */
    async change(change: Change, ids: readonly string[]) {
      const result = {
        done: [] as string[],
        missing: [] as string[],
        failed: [] as { readonly id: string; readonly why: string }[],
      }
      for (const id of new Set(ids)) {
        try {
          const isFound =
            change === 'discard'
              ? await deadLetters.discard(id)
              : await deadLetters.replay(id, { force: change === 'force' })
          result[isFound ? 'done' : 'missing'].push(id)
        } catch (error) {
          // Messages of this package quote no body.
          result.failed.push({ id, why: isOurs(error) ? error.message : 'The store failed; the log has it.' })
        }
      }
      asked = undefined
      return result
    },
  }
}

function isOther({ type, project, from = -Infinity, to = Infinity }: ListQuery): (letter: Letter) => boolean {
  return (letter) =>
    (type === undefined || type === letter.type) &&
    (project === undefined || project === letter.project) &&
    letter.diedAtMs >= from &&
    letter.diedAtMs < to
}

function isOfGroup({ error }: ListQuery): (letter: Letter) => boolean {
  return ({ group }) => error === undefined || error === group
}

function groupsOf(letters: readonly Letter[], errors: Look['errors'], { reveal }: Rights) {
  const groups = new Map<string, { count: number; sinceMs: number; lastMs: number }>()
  for (const { group, diedAtMs } of letters) {
    // Newest first.
    const known = groups.get(group) ?? { count: 0, sinceMs: diedAtMs, lastMs: diedAtMs }
    groups.set(group, { ...known, count: known.count + 1, sinceMs: diedAtMs })
  }
  return [...groups]
    .map(([id, { count, sinceMs, lastMs }]) => {
      const cause = errors.get(id)?.[reveal ? 'plain' : 'masked'] ?? ''
      return { id, cause, count, since: isoOf(sinceMs), last: isoOf(lastMs) }
    })
    .sort((a, b) => b.count - a.count)
}

function headOf(error: string): string {
  const [head = ''] = error.split('\n', 1)
  return head.slice(0, LONGEST_HEAD)
}

/** Groups errors that differ only in numbers, ids and quoted texts. The name of a group reveals none of these. */
function groupOf(error: string): string {
  const plain = headOf(error)
    .replace(/(["'`“‘]).*?(["'`”’])/g, '…')
    .replace(/\S*\d\S*/g, '…')
  return createHash('sha256').update(plain).digest('hex').slice(0, 12)
}

function asKnown(letter: StoredDeadLetter): Known {
  return { ...letter, state: 'dead', endedAtMs: letter.diedAtMs }
}
