/** What is asked of the store and changes nothing in it. */
import type { Page, StoreCounts, StoredDeadLetter, StoredLatest } from '../../inbox/store.ts'
import { LAST_TIME_MS, readRecord } from '../../inbox/record.ts'
import { decodeDead } from './encoding.ts'
import type { Engine } from './engine.ts'
import { bytes, integer, list, text } from './replies.ts'
import { script } from './scripted.ts'
import { COUNTS } from './scripts/counts.ts'
import { DEAD_LETTER } from './scripts/dead-letter.ts'
import { DEAD_PAGE } from './scripts/dead-page.ts'
import { LATEST } from './scripts/latest.ts'

const countsScript = script(COUNTS)
const deadLetterScript = script(DEAD_LETTER)
const deadPageScript = script(DEAD_PAGE)
const latestScript = script(LATEST)

interface Reading {
  latest(messageKey: string): Promise<StoredLatest | undefined>
  deadLetters(page: { readonly after: string | undefined; readonly limit: number }): Promise<Page<StoredDeadLetter>>
  counts(): Promise<StoreCounts>
}

/** The place of a dead letter among all of them: its cursor. */
interface Place {
  readonly dueKey: string
  readonly id: string
  readonly messageKey: string
  /** As Redis has it, to go on from. */
  readonly score: string
  readonly diedAtMs: number
}

export function createReading({ redis, partitions }: Engine): Reading {
  async function placesIn(dueKey: string, after: string | undefined, limit: number): Promise<readonly Place[]> {
    const [score, id] = after === undefined ? ['-inf', ''] : placeOf(after)
    const flat = list(await redis.run(deadPageScript, [dueKey], ['', score, id, limit]))
    return Array.from({ length: flat.length / 3 }, (_, at) => {
      const found = text(flat[3 * at + 2])
      return {
        dueKey,
        id: text(flat[3 * at]),
        messageKey: text(flat[3 * at + 1]),
        score: found,
        diedAtMs: timeOf(found),
      }
    })
  }

  async function read({ dueKey, id, messageKey, diedAtMs }: Place): Promise<StoredDeadLetter | undefined> {
    const [attempts, error, payload] = list(await redis.run(deadLetterScript, [dueKey], ['', messageKey, id]))
    // It was replayed since.
    if (payload === undefined) return undefined
    return { id, attempts: integer(attempts), error: text(error), diedAtMs, ...decodeDead(bytes(payload), diedAtMs) }
  }

  return {
    async latest(messageKey) {
      const reply = await redis.run(latestScript, [partitions.dueKeyOf(messageKey)], ['', messageKey])
      const [latest, ...all] = list(reply).map((found) => readRecord(bytes(found)))
      const finals = all.filter((record) => record !== undefined)
      const record = latest ?? finals.at(-1)
      return record && { record, finals }
    },
    async deadLetters({ after, limit }) {
      const places = (await Promise.all(partitions.dueKeys.map((dueKey) => placesIn(dueKey, after, limit + 1))))
        .flat()
        .sort((a, b) => a.diedAtMs - b.diedAtMs || (a.id < b.id ? -1 : 1))
      const items = (await Promise.all(places.slice(0, limit).map(read))).filter((letter) => letter !== undefined)
      const last = places[limit - 1]
      return places.length > limit && last !== undefined ? { items, next: `${last.score}:${last.id}` } : { items }
    },
    async counts() {
      const replies = await Promise.all(partitions.groups.map((keys) => redis.run(countsScript, keys, [''])))
      const sum = (at: number): number => replies.reduce((total: number, reply) => total + integer(list(reply)[at]), 0)
      return { unsettled: sum(0), deadLetters: sum(1) }
    },
  }
}

function placeOf(after: string): readonly [score: string, id: string] {
  const end = after.indexOf(':')
  return [after.slice(0, end), after.slice(end + 1)]
}

/** Of a score that somebody else may have set: `inf` is one. */
function timeOf(score: string): number {
  const time = score.endsWith('inf') ? Number(score.replace('inf', 'Infinity')) : Number(score)
  return Math.max(0, Math.min(LAST_TIME_MS, time))
}
