/** What `trigger` says of answers that a correct receiver does not give: what was expected, and what to do next. */
import type { Delivery } from '../emulator/callbacks/outgoing.ts'
import { answerOf, judge } from './answers.ts'
import { shown, type Terminal } from './terminal.ts'

/** One note for each status, with the first delivery that was answered so. */
interface Unexpected {
  readonly delivery: Delivery
  readonly expected: string
  readonly next: string
  count: number
}

export interface UnexpectedAnswers {
  add(delivery: Delivery): void
  /** On the standard error: they are about the run. */
  print(terminal: Pick<Terminal, 'note' | 'noteColours'>): void
}

export function createUnexpectedAnswers(): UnexpectedAnswers {
  const byAnswer = new Map<string, Unexpected>()
  return {
    add(delivery) {
      const explained = explain(delivery)
      if (explained === undefined) return
      const key = `${explained.expected} ${answerOf(delivery)}`
      const known = byAnswer.get(key) ?? { ...explained, delivery, count: 0 }
      known.count += 1
      byAnswer.set(key, known)
    },
    print({ note, noteColours: { yellow } }) {
      for (const { delivery, expected, next, count } of byAnswer.values()) {
        const got = delivery.status === undefined ? (delivery.error ?? 'no answer') : String(delivery.status)
        note(`${yellow('unexpected:')} ${shown(got)}${count > 1 ? `, ${count} times` : ''}. Expected: ${expected}`)
        note(`Next: ${shown(next)}`)
      }
    },
  }
}

function explain(delivery: Delivery): { readonly expected: string; readonly next: string } | undefined {
  switch (judge(delivery)) {
    case undefined:
      return undefined
    case 'refused':
      return { expected: '204, because the callback is signed and complete.', next: nextAfter(delivery) }
    case 'wronglyTaken':
      return {
        expected: `401, because nothing proves the callback after ${delivery.faults.join(', ')}.`,
        next: 'mount receiver.middleware() at this URL. The handler there accepts forged callbacks.',
      }
    case 'unanswered':
      return {
        expected: 'an answer.',
        next: delivery.sent
          ? 'look in the app for a handler or middleware that never answers, or raise --timeout.'
          : 'start the app, and compare the host and port of --to with those that it listens on.',
      }
  }
}

/** What to do after a callback that a receiver with this pair accepts was answered otherwise. */
function nextAfter({ status = 0, url }: Delivery): string {
  const doctor = `messaging-webhooks doctor ${url}`
  if (status >= 300 && status < 400) return 'give --to the URL that this one redirects to. The service follows none.'
  switch (status) {
    case 401:
      return `compare SIGNING_SECRET and AUTH_KEY with those of the receiver. Its log has the reason, or run: ${doctor}`
    case 404:
      return 'compare the path of --to with the path that the receiver is mounted at.'
    case 405:
      return 'mount the receiver for POST, with app.post() or app.use().'
    case 413:
      return 'raise the limit on bodies in front of the receiver, or its maxBodyBytes.'
    case 503:
      return 'read the log of the app: its store or its credentials are unavailable, or a proxy does not reach it.'
    default:
      return `read the log of the app for an error before the receiver, or run: ${doctor}`
  }
}
