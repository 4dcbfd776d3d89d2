/** What the queries of requests say; anything else than what is expected is answered 400. */
import { Refused } from './answer.ts'

const LONGEST_TEXT = 1_024

/** Undefined where it is absent or empty. */
export function textIn(query: URLSearchParams, name: string): string | undefined {
  const value = query.get(name)
  if (value === null || value === '') return undefined
  if (value.length > LONGEST_TEXT) throw wrong(name, `a text of at most ${LONGEST_TEXT} characters`)
  return value
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
  return given.map((value) => known.find((word) => word === value) ?? fail(name, `some of ${known.join(', ')}`))
}

export function wordIn<W extends string>(query: URLSearchParams, name: string, known: readonly W[]): W | undefined {
  const given = wordsIn(query, name, known)
  if (given !== undefined && given.length > 1) throw wrong(name, `one of ${known.join(', ')}`)
  return given?.[0]
}

export function timeIn(query: URLSearchParams, name: string): number | undefined {
  const value = textIn(query, name)
  if (value === undefined) return undefined
  const ms = Date.parse(value)
  return Number.isNaN(ms) ? fail(name, 'a time such as 2026-01-31T12:00:00Z') : ms
}

export function limitIn(query: URLSearchParams, usual: number, most: number): number {
  const value = textIn(query, 'limit')
  if (value === undefined) return usual
  const limit = /^\d{1,6}$/.test(value) ? Number(value) : 0
  return limit >= 1 && limit <= most ? limit : fail('limit', `a whole number from 1 to ${most}`)
}

function fail(name: string, expected: string): never {
  throw wrong(name, expected)
}

function wrong(name: string, expected: string): Refused {
  return new Refused(400, 'query_invalid', `The parameter ${name} cannot be used; expected ${expected}.`)
}
