/**
 * What the page asks of its server, and how it hears of changes: relative to where the page is, so that it works under any mount and
 * behind any proxy. The only place of the page that asks for the time or sets a timer.
 */
import { useEffect, useRef, useState } from 'preact/hooks'
import type { Change, DeadLetterIds, Overview, Problem, Session } from '../shapes.ts'

export function now(): number {
  return Date.now()
}

/** Returns what takes it back. */
export function after(delayMs: number, what: () => void): () => void {
  const timer = setTimeout(what, delayMs)
  return () => clearTimeout(timer)
}

/** An answer that is none; `status` is 0 where nobody answered. */
export class NoAnswer extends Error {
  readonly code: string
  readonly status: number
  constructor(status: number, code: string, message: string) {
    super(message)
    this.status = status
    this.code = code
  }

  /** The app lets this reader in no more; a right that is missing for one thing is something else. */
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
  const answer: unknown = await response.json().catch(() => undefined)
  if (response.ok && answer !== undefined) return answer as T // Our server is of the same version as the page.
  const { code, message } = isProblem(answer)
    ? answer.error
    : { code: 'not_json', message: `The server answered ${response.status}.` }
  const problem = new NoAnswer(response.status, code, message)
  if (problem.isSignedOut) for (const listener of listeners) listener.onSignedOut(problem)
  throw problem
}

function isProblem(answer: unknown): answer is Problem {
  return typeof answer === 'object' && answer !== null && 'error' in answer
}

export function post<T>(path: string, body: object): Promise<T> {
  return ask(path, { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) })
}

/** Of all dead letters that match. */
export async function idsOf(query: Query): Promise<readonly string[]> {
  return (await ask<DeadLetterIds>(`api/dead-letters/ids${queryOf(query)}`)).ids
}

/** Of counts by name. */
export function total(counts: Readonly<Record<string, number>>): number {
  return Object.values(counts).reduce((all, one) => all + one, 0)
}

export type Query = Readonly<Record<string, string | undefined>>

/** What the address behind `#` names, so that every view can be sent to somebody, under any mount. */
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

/** An address typed by hand may have half an escape in it. */
function decoded(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}

/** Those of a query that a view knows, and that say something. */
export function pick(query: Query, names: readonly string[]): Query {
  return Object.fromEntries(names.flatMap((name) => (query[name] ? [[name, query[name]]] : [])))
}

/** What a field of a form has. */
export function valueOf(target: EventTarget | null): string {
  return target instanceof HTMLInputElement || target instanceof HTMLSelectElement ? target.value : ''
}

/** With its question mark, and without what is empty or undefined. */
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

/** `live`: the stream is open. `asking`: it is not, and answers come. `lost`: nobody answers. */
export type Connection = 'connecting' | 'live' | 'asking' | 'lost' | 'paused'

/** What the views ask of a change. */
export type News = Pick<Change, 'deadLetters' | 'quarantined' | 'events' | 'messages' | 'many'>

interface Listener {
  readonly onChange: (change: News) => void
  /** Whatever changed meanwhile was not heard of. */
  readonly onGap: () => void
  readonly onSignedOut: (refused: NoAnswer) => void
}

const listeners = new Set<Listener>()

export function useListener(listener: Listener): void {
  const latest = useRef(listener)
  latest.current = listener
  useEffect(() => {
    const hears: Listener = {
      onChange: (change) => latest.current.onChange(change),
      onGap: () => latest.current.onGap(),
      onSignedOut: (refused) => latest.current.onSignedOut(refused),
    }
    listeners.add(hears)
    return () => void listeners.delete(hears)
  }, [])
}

interface Asked<T> {
  readonly value: T | undefined
  readonly problem: NoAnswer | undefined
  readonly refresh: () => void
}

/** Asks for a path, and again as things change, but no sooner than `isStale` says: milliseconds since the last time. */
export function useAsked<T>(path: string, isStale: (change: News) => number | undefined): Asked<T> {
  const [answer, setAnswer] = useState<{ path?: string; value?: T; problem?: NoAnswer }>({})
  const state = useRef({ path, isAsking: false, isAskedAgain: false, isWaiting: false, askedAtMs: 0, cancel: () => {} })
  const { current } = state

  function refresh(): void {
    current.cancel()
    current.isWaiting = false
    current.isAskedAgain = current.isAsking
    if (current.isAsking) return
    current.isAsking = true
    current.askedAtMs = now()
    const asked = current.path
    ask<T>(asked)
      .then(
        (value) => asked === current.path && setAnswer({ path: asked, value }),
        (error: unknown) => asked === current.path && setAnswer((old) => ({ ...old, problem: asNoAnswer(error) })),
      )
      .finally(() => {
        current.isAsking = false
        if (current.isAskedAgain) refresh()
      })
  }

  useEffect(() => {
    current.path = path
    refresh()
  }, [path])
  useEffect(() => () => current.cancel(), [])
  useListener({
    onGap: refresh,
    onSignedOut() {},
    onChange(change) {
      const staleMs = isStale(change)
      if (staleMs === undefined || current.isWaiting) return
      current.isWaiting = true
      current.cancel = after(Math.max(0, current.askedAtMs + staleMs - now()), () => {
        current.isWaiting = false
        if (!document.hidden) refresh()
      })
    },
  })
  return { value: answer.value, problem: answer.problem, refresh }
}

/** Between two answers, while the stream cannot be had. */
const ASK_EVERY_MS = 5_000
const LONGEST_DELAY_MS = 30_000
/** A proxy that holds a stream back never opens it. */
const LONGEST_OPENING_MS = 10_000
const STREAM_AGAIN_MS = 30_000

interface Heard {
  readonly onConnection: (connection: Connection) => void
  readonly onSession: (session: Session) => void
}

interface Live {
  readonly hold: (isHeld: boolean) => void
  /** Has every view ask again. */
  readonly refresh: () => void
  readonly end: () => void
}

/** Hears of changes while the page is looked at: by the server's stream, or by asking again. */
export function listen({ onConnection, onSession }: Heard): Live {
  let source: EventSource | undefined
  let cancel = (): void => {}
  let failures = 0
  let triedAtMs = -Infinity
  let isHeld = false
  /** Answers to an earlier one are not heard. */
  let round = 0

  function stop(): void {
    round += 1
    cancel()
    source?.close()
    source = undefined
  }

  function open(): void {
    stop()
    triedAtMs = now()
    const opened = new EventSource('api/stream')
    source = opened
    cancel = after(LONGEST_OPENING_MS, askOnce)
    opened.onopen = () => {
      cancel()
      failures = 0
      onConnection('live')
      refresh()
    }
    opened.onerror = askOnce
    // Our server's shape.
    opened.addEventListener('change', ({ data }) => tell(JSON.parse(String(data)) as Change))
  }

  function refresh(): void {
    for (const listener of listeners) listener.onGap()
  }

  function tell(change: News): void {
    for (const listener of listeners) listener.onChange(change)
  }

  /** The stream has ended, or cannot be had: whether the reader is still let in comes first. */
  function askOnce(): void {
    stop()
    const mine = round
    async function run(): Promise<void> {
      onSession(await ask<Session>('api/session'))
      const { deadLetters, quarantine } = await ask<Overview>('api/overview')
      if (mine !== round) return
      tell({ deadLetters, quarantined: total(quarantine), events: [], messages: [], many: true })
      if (failures > 0 || now() - triedAtMs >= STREAM_AGAIN_MS) open()
      else {
        onConnection('asking')
        cancel = after(ASK_EVERY_MS, askOnce)
      }
    }
    run().catch((error: unknown) => {
      if (mine !== round) return
      failures += 1
      // A reader who is signed out is told so by the answer.
      if (!asNoAnswer(error).isSignedOut) onConnection('lost')
      cancel = after(Math.min(LONGEST_DELAY_MS, 1_000 * 2 ** failures), askOnce)
    })
  }

  function begin(): void {
    if (isHeld || document.hidden) return
    open()
  }

  const look = (): void => (document.hidden ? stop() : begin())
  document.addEventListener('visibilitychange', look)
  begin()
  return {
    refresh,
    end() {
      document.removeEventListener('visibilitychange', look)
      stop()
    },
    hold(held) {
      isHeld = held
      if (held) stop()
      onConnection(held ? 'paused' : 'connecting')
      begin()
    },
  }
}
