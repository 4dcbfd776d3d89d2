/** Says what was found spoilt, each once; what belongs to all messages of a partition is said once for all of them. */
import { MessagingWebhooksError } from '../../errors.ts'
import type { Reply } from './clients/connection.ts'
import { list, text } from './replies.ts'

const MOST_SAID = 1_000

const OF_ALL: ReadonlySet<string> = new Set([
  'due',
  'dead',
  'deadof',
  'more',
  'holders',
  'holderof',
  'buried',
  'sweep',
  'steady',
])

export interface DamageReports {
  /** Takes the notes of a script: code, event or message, place. None says what stood there. */
  tell(notes: Reply | undefined): void
  /** All keys have been looked at; where nothing was wrong with them, what comes is new. */
  lookedAtAll(): void
}

export function createDamageReports(report: (error: MessagingWebhooksError) => void): DamageReports {
  const said = new Set<string>()
  let isCalm = true
  return {
    tell(notes) {
      if (notes === undefined) return
      for (const note of list(notes)) {
        isCalm = false
        const [code = '', of = '', place = ''] = list(note).map(text)
        const name = `${code} ${OF_ALL.has(place) ? place : of}`
        if (said.has(name)) continue
        if (said.size === MOST_SAID) said.clear()
        said.add(name)
        report(
          code === 'event_damaged'
            ? new MessagingWebhooksError('event_damaged', `It is ${place} of event ${of}.`)
            : new MessagingWebhooksError('state_damaged', of === '' ? `It is ${place}.` : `It is ${place} of ${of}.`),
        )
      }
    },
    lookedAtAll() {
      if (isCalm) said.clear()
      isCalm = true
    },
  }
}
