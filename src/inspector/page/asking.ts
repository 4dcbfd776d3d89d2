/** What the page asks of its server: relative to where the page is, so that it works under any mount and behind any proxy. */
import type {
  DeadLetterList,
  DeadLetterResult,
  EventDetail,
  EventList,
  MessageDetail,
  Overview,
  Problem,
  QuarantineList,
  ReverifyResult,
  Session,
} from '../shapes.ts'
import { queryOf, type Query } from './route.ts'

/** An answer that is none; `status` is 0 where nobody answered. */
export class NoAnswer extends Error {
  readonly code: string
  readonly status: number
  constructor(status: number, code: string, message: string) {
    super(message)
    this.status = status
    this.code = code
  }
}

async function ask<T>(path: string, init: RequestInit = {}): Promise<T> {
  let response: Response
  try {
    response = await fetch(path, { ...init, credentials: 'same-origin', redirect: 'error' })
  } catch {
    throw new NoAnswer(0, 'no_answer', 'The server does not answer.')
  }
  let answer: unknown
  try {
    answer = await response.json()
  } catch {
    throw new NoAnswer(
      response.status,
      'not_json',
      `The server answered ${response.status}, and not with what this page expects.`,
    )
  }
  if (isProblem(answer)) throw new NoAnswer(response.status, answer.error.code, answer.error.message)
  if (!response.ok) throw new NoAnswer(response.status, 'refused', `The server answered ${response.status}.`)
  return answer as T // The server is of the same version as the page, and its answers are of these shapes.
}

function isProblem(answer: unknown): answer is Problem {
  if (typeof answer !== 'object' || answer === null || !('error' in answer)) return false
  const { error } = answer
  return typeof error === 'object' && error !== null && 'code' in error && 'message' in error
}

function post<T>(path: string, body: object): Promise<T> {
  return ask(path, { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) })
}

function part(text: string): string {
  return encodeURIComponent(text)
}

export const STREAM = 'api/stream'

export function askSession(): Promise<Session> {
  return ask('api/session')
}

export function askOverview(): Promise<Overview> {
  return ask('api/overview')
}

export function askEvents(query: Query): Promise<EventList> {
  return ask(`api/events${queryOf(query)}`)
}

export function askEvent(id: string, query: Query): Promise<EventDetail> {
  return ask(`api/events/${part(id)}${queryOf(query)}`)
}

export function rawOf(id: string, query: Query): string {
  return `api/events/${part(id)}/raw${queryOf(query)}`
}

export function askMessage(messageId: string, query: Query): Promise<MessageDetail> {
  return ask(`api/messages/${part(messageId)}${queryOf(query)}`)
}

export function askDeadLetters(query: Query): Promise<DeadLetterList> {
  return ask(`api/dead-letters${queryOf(query)}`)
}

export type Decision = 'replay' | 'force' | 'discard'

export function decide(decision: Decision, ids: readonly string[]): Promise<DeadLetterResult> {
  return post(`api/dead-letters/${decision}`, { ids })
}

export function askQuarantine(query: Query): Promise<QuarantineList> {
  return ask(`api/quarantine${queryOf(query)}`)
}

export function reverify(options: {
  readonly dryRun: boolean
  readonly clockOffsetSeconds?: number
}): Promise<ReverifyResult> {
  return post('api/quarantine/reverify', options)
}
