/** The testing kit's clock that stands still, plus functions that only our own tests need. */
import type { FakeClock } from 'messaging-webhooks/testing'

export { fakeClock, type FakeClock } from 'messaging-webhooks/testing'

export function isFakeClock(clock: unknown): clock is FakeClock {
  return typeof clock === 'object' && clock !== null && 'advance' in clock
}

/** Advances a fake clock until `work` is done. */
export async function letTimePass(clock: FakeClock, work: Promise<unknown>): Promise<void> {
  const isDone = work.then(() => true)
  while (!(await Promise.race([isDone, clock.advance(50).then(() => false)]))) continue
}

/** Resolves once all started work has run as far as it can without time passing. */
export async function atRest(): Promise<void> {
  for (let turn = 0; turn < 4; turn += 1) await new Promise((resolve) => setImmediate(resolve))
}
