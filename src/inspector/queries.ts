/** What the queries of the lists ask for; and that looks into a store take their turn. */
import { Refused } from './server.ts'

const LONGEST_TEXT = 1_024

/** A parameter of a query; undefined where it is absent or empty. Here and below, anything unexpected is answered 400. */
export function textIn(query: URLSearchParams, name: string): string | undefined {
  const value = query.get(name)
  if (value === null || value === '') return undefined
  return value.length > LONGEST_TEXT ? refuse(name, `a text of at most ${LONGEST_TEXT} characters`) : value
}

/** Values that may be given several times, or with commas between them. */
export function wordsIn<W extends string>(
  query: URLSearchParams,
  name: string,
  known: readonly W[],
): readonly W[] | undefined {
  const given = query
    .getAll(name)
    .flatMap((value) => value.split(','))
    .filter((value) => value !== '')
  if (given.length === 0) return undefined
  return given.map((value) => known.find((word) => word === value) ?? refuse(name, `some of ${known.join(', ')}`))
}

export function wordIn<W extends string>(query: URLSearchParams, name: string, known: readonly W[]): W | undefined {
  const given = wordsIn(query, name, known)
  return given !== undefined && given.length > 1 ? refuse(name, `one of ${known.join(', ')}`) : given?.[0]
}

export function timeIn(query: URLSearchParams, name: string): number | undefined {
  const value = textIn(query, name)
  if (value === undefined) return undefined
  const ms = Date.parse(value)
  return Number.isNaN(ms) ? refuse(name, 'a time such as 2026-01-31T12:00:00Z') : ms
}

const A_PAGE = 50
const MOST_A_PAGE = 200

export function limitIn(query: URLSearchParams): number {
  const value = textIn(query, 'limit')
  if (value === undefined) return A_PAGE
  const limit = /^\d{1,6}$/.test(value) ? Number(value) : 0
  return limit >= 1 && limit <= MOST_A_PAGE ? limit : refuse('limit', `a whole number from 1 to ${MOST_A_PAGE}`)
}

function refuse(name: string, expected: string): never {
  throw new Refused(400, 'query_invalid', `The parameter ${name} cannot be used; expected ${expected}.`)
}

/** In this process, of all inspectors together. */
const AT_ONCE = 2
const MOST_WAITING = 20
const RETRY_AFTER_SECONDS = 3

let running = 0
const waiting: (() => void)[] = []

/**
 * Runs a look into a store when its turn comes, so that callbacks are answered as before however many people search at once. Rejects
 * with a `Refused` (503) where too many wait.
 */
export async function inTurn<T>(look: () => Promise<T>): Promise<T> {
  if (running >= AT_ONCE) {
    if (waiting.length >= MOST_WAITING)
      throw new Refused(
        503,
        'inspector_busy',
        `${AT_ONCE} searches run and ${MOST_WAITING} wait. Try again in some seconds.`,
        { 'retry-after': String(RETRY_AFTER_SECONDS) },
      )
    await new Promise<void>((resolve) => waiting.push(resolve))
  } else running += 1
  try {
    return await look()
  } finally {
    const next = waiting.shift()
    // Its place goes to the next one.
    if (next === undefined) running -= 1
    else next()
  }
}
