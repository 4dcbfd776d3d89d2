/** What the inspector answers, whatever server writes it; each answer is one that no browser keeps, frames or guesses about. */
import type { Problem } from './shapes.ts'

/** Where an endless answer is written. */
export interface Sink {
  /** False where whoever reads is slow: what is not written then is not missed. */
  write(text: string): boolean
  end(): void
}

export interface Answer {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly body?: string | Buffer
  /** Instead of a body: begins to write, and returns what is called once nobody reads any more. */
  readonly stream?: (sink: Sink) => () => void
}

/** Nothing is run, shown or fetched but what the inspector itself serves; nobody frames it, and it tells nobody where it was. */
const SAFETY = {
  'content-security-policy':
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; base-uri 'none'; " +
    "form-action 'none'; frame-ancestors 'none'",
  'cache-control': 'no-store',
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'DENY',
  'referrer-policy': 'no-referrer',
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
  'x-robots-tag': 'noindex, nofollow',
} as const

export function answer(
  status: number,
  headers: Readonly<Record<string, string>>,
  content: Pick<Answer, 'body' | 'stream'> = {},
): Answer {
  return { status, headers: { ...SAFETY, ...headers }, ...content }
}

export function json(value: object, status = 200): Answer {
  return answer(status, { 'content-type': 'application/json; charset=utf-8' }, { body: JSON.stringify(value) })
}

/** Any answer but 2xx and 3xx. The message says what to do, and quotes nothing. */
export function problem(
  status: number,
  code: string,
  message: string,
  headers: Readonly<Record<string, string>> = {},
): Answer {
  const value: Problem = { error: { code, message } }
  const made = json(value, status)
  return { ...made, headers: { ...made.headers, ...headers } }
}

/** Ends a route early. */
export class Refused extends Error {
  override readonly name = 'Refused'
  readonly answer: Answer

  constructor(status: number, code: string, message: string, headers?: Readonly<Record<string, string>>) {
    super(message)
    this.answer = problem(status, code, message, headers)
  }
}
