/**
 * Requests of the page to its server, relative to the page's address, so that any mount and proxy works. The only file of the
 * page that reads the time or sets timers.
 */
import { useEffect, useRef, useState } from 'preact/hooks'
import type { DeadLetterIds, Problem } from '../routes.ts'

export function now(): number {
  return Date.now()
}

/** Returns a function that cancels it. */
export function every(periodMs: number, what: () => void): () => void {
  const timer = setInterval(what, periodMs)
  return () => clearInterval(timer)
}

/** A failed request. `status` is 0 without an answer. */
export class NoAnswer extends Error {
  readonly code: string
  readonly status: number
  constructor(status: number, code: string, message: string) {
    super(message)
    this.status = status
    this.code = code
  }

  /** Whether the app no longer admits this reader. False if only the right for one action is missing. */
  get isSignedOut(): boolean {
    return this.status === 401 || (this.status === 403 && !/_required|foreign|not_json/.test(this.code))
  }
}

export function asNoAnswer(error: unknown): NoAnswer {
  if (error instanceof NoAnswer) return error
  return new NoAnswer(0, 'page_failed', error instanceof Error ? error.message : 'The page failed.')
}

export async function ask<T>(path: string, init: RequestInit = {}): Promise<T> {
  let response: Response
  try {
    response = await fetch(path, { ...init, credentials: 'same-origin', redirect: 'error' })
  } catch {
    throw new NoAnswer(0, 'no_answer', 'The server does not answer.')
  }
  const { status, ok } = response
  const answer: unknown = await response.json().catch(() => undefined)
  if (ok && answer !== undefined) return answer as T // The server has the same version as the page.
  if (!isProblem(answer)) throw new NoAnswer(status, 'not_json', `The server answered ${status}.`)
  throw new NoAnswer(status, answer.error.code, answer.error.message)
}

function isProblem(answer: unknown): answer is Problem {
  return typeof answer === 'object' && answer !== null && 'error' in answer
}

export function post<T>(path: string, body: object): Promise<T> {
  return ask(path, { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) })
}

export async function idsOf(query: Query): Promise<readonly string[]> {
  return (await ask<DeadLetterIds>(`api/dead-letters/ids${queryOf(query)}`)).ids
}

export type Query = Readonly<Record<string, string | undefined>>

/** The part of the address after `#`, so that every view has a link, under any mount. */
export interface Route {
  readonly view: string
  readonly id: string | undefined
  readonly query: Query
}

export function readRoute(): Route {
  const [path = '', query = ''] = location.hash.replace(/^#?\/?/, '').split(/\?(.*)/s)
  const [view = '', id] = path.split('/').map(decoded)
  return { view: view === '' ? 'overview' : view, id, query: Object.fromEntries(new URLSearchParams(query)) }
}

/** An address typed by hand may contain an incomplete escape. */
function decoded(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}

export function valueOf(target: EventTarget | null): string {
  return target instanceof HTMLInputElement || target instanceof HTMLSelectElement ? target.value.trim() : ''
}

/** Includes the question mark, and omits empty and undefined values. */
export function queryOf(query: Query): string {
  const given = Object.entries(query).flatMap(([name, value]) => (value ? [[name, value]] : []))
  return given.length === 0 ? '' : `?${new URLSearchParams(given).toString()}`
}

export function href(path: readonly string[], query: Query = {}): string {
  return `#/${path.map(encodeURIComponent).join('/')}${queryOf(query)}`
}

export function go(path: readonly string[], query: Query = {}): void {
  location.hash = href(path, query)
}

export interface Asked<T> {
  readonly value?: T
  readonly problem?: NoAnswer
}

/**
 * Requests a path, and again whenever `changes` differs. Never twice at once, because an answer may take longer than the next
 * change.
 */
export function useAsked<T>(path: string, changes: string): Asked<T> {
  const [answer, setAnswer] = useState<Asked<T> & { readonly path: string }>({ path })
  const wanted = useRef({ path, changes })
  const isAsking = useRef(false)

  async function run(): Promise<void> {
    if (isAsking.current) return
    isAsking.current = true
    const asked = wanted.current
    try {
      setAnswer({ path: asked.path, value: await ask<T>(asked.path) })
    } catch (error) {
      setAnswer((old) => ({ ...(old.path === asked.path && old), path: asked.path, problem: asNoAnswer(error) }))
    }
    isAsking.current = false
    if (asked !== wanted.current) await run()
  }

  useEffect(() => {
    wanted.current = { path, changes }
    void run()
  }, [path, changes])
  return answer
}

/** A page of a list, by the filters and the position that the address names. */
export interface List<T> {
  readonly name: string
  readonly query: Query
  readonly after: string | undefined
  readonly isFiltered: boolean
  readonly asked: Asked<T>
}

/** `name` is that of the list in the address and on the server. `filters` are its query parameters. */
export function useList<T>(
  name: string,
  filters: readonly string[],
  { query: given }: Route,
  changes: string,
): List<T> {
  const { after: position } = given
  const query = Object.fromEntries(Object.entries(given).filter(([key, value]) => value && filters.includes(key)))
  const asked = useAsked<T>(`api/${name}${queryOf({ ...query, after: position })}`, changes)
  return { name, query, after: position, isFiltered: Object.keys(query).length > 0, asked }
}
