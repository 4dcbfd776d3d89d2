/**
 * Tells a wrong clock from a replay. Contract, service.md#limits: a signature more than 300 s off is refused; where the digests are
 * right and several in a row are off by the same, it is most likely our own clock.
 */
import { MessagingWebhooksError } from '../public/errors.ts'

interface ClockWatch {
  /** True since a signature was off, until one holds. */
  readonly isInDoubt: boolean
  /** A signature is off whose digest is right. */
  doubt(offsetSeconds: number, arrivedAtMs: number): void
  /** A signature holds, which shows that the clock is right. */
  trust(): void
}

/** So many, of different seconds: one recorded callback that is sent again and again has always the same. */
const IN_A_ROW = 5
/** On their way, callbacks take longer or shorter. */
const AGREE_WITHIN_SECONDS = 2

export function createClockWatch(report: (error: MessagingWebhooksError) => void): ClockWatch {
  let row: { readonly offsetSeconds: number; readonly signedAt: Set<number> } | undefined
  let said = false
  const watch = {
    isInDoubt: false,
    doubt(offsetSeconds: number, arrivedAtMs: number) {
      watch.isInDoubt = true
      if (said) return
      if (row === undefined || Math.abs(offsetSeconds - row.offsetSeconds) > AGREE_WITHIN_SECONDS)
        row = { offsetSeconds, signedAt: new Set() }
      row.signedAt.add(Math.floor(arrivedAtMs / 1_000) - offsetSeconds)
      if (row.signedAt.size < IN_A_ROW) return
      said = true
      report(new MessagingWebhooksError('clock_wrong', describe(row.offsetSeconds)))
    },
    trust() {
      watch.isInDoubt = false
      row = undefined
      said = false
    },
  }
  return watch
}

function describe(offsetSeconds: number): string {
  const direction = offsetSeconds > 0 ? 'ahead of' : 'behind'
  return `It is ${Math.abs(offsetSeconds)} s ${direction} theirs; \`clockOffsetSeconds\` is ${offsetSeconds}.`
}
