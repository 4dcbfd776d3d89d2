/**
 * Distinguishes a wrong clock from a replay. Contract, service.md#limits: a signature more than 300 s off is refused. If
 * several valid digests in a row are off by the same amount, this machine's clock is probably wrong.
 */
import { MessagingWebhooksError } from '../public/errors.ts'

interface ClockWatch {
  /** True after a signature was off, until a valid one arrives. */
  readonly isInDoubt: boolean
  /** Called for a signature with a valid digest that is off by `offsetSeconds`. */
  doubt(offsetSeconds: number, arrivedAtMs: number): void
  /** Called for a valid signature, which shows that the clock is right. */
  trust(): void
}

/** Required number of signatures with different times. A replayed callback always has the same time. */
const IN_A_ROW = 5
/** Tolerance for differences in transit time. */
const AGREE_WITHIN_SECONDS = 2

export function createClockWatch(report: (error: MessagingWebhooksError) => void): ClockWatch {
  let row: { readonly offsetSeconds: number; readonly signedAt: Set<number> } | undefined
  let isReported = false
  const watch = {
    isInDoubt: false,
    doubt(offsetSeconds: number, arrivedAtMs: number) {
      watch.isInDoubt = true
      if (isReported) return
      if (row === undefined || Math.abs(offsetSeconds - row.offsetSeconds) > AGREE_WITHIN_SECONDS)
        row = { offsetSeconds, signedAt: new Set() }
      row.signedAt.add(Math.floor(arrivedAtMs / 1_000) - offsetSeconds)
      if (row.signedAt.size < IN_A_ROW) return
      isReported = true
      report(new MessagingWebhooksError('clock_wrong', describe(row.offsetSeconds)))
    },
    trust() {
      watch.isInDoubt = false
      row = undefined
      isReported = false
    },
  }
  return watch
}

function describe(offsetSeconds: number): string {
  const direction = offsetSeconds > 0 ? 'ahead of' : 'behind'
  return `It is ${Math.abs(offsetSeconds)} s ${direction} the service’s clock: \`clockOffsetSeconds\` is ${offsetSeconds}.`
}
