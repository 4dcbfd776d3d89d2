/** Puts the events of a schema into partitions, or goes on where somebody was interrupted. */
import { systemClock } from '../../clock.ts'
import { MessagingWebhooksError } from '../../errors.ts'
import type { Connections } from './connections.ts'
import { hasState, INSUFFICIENT_PRIVILEGE, type Failures } from './failures.ts'
import { partitionSteps } from './partitioning.ts'
import { quoteName } from './sql-text.ts'

/** A step waits so long for whoever works with the tables, and all others wait behind it; then it lets them go first. */
const LOCK_MS = 500
const AGAIN_MS = 1_000
const MOST_TRIES = 300
const LOCK_NOT_AVAILABLE = '55P03'

/** To validate a large table takes minutes, and nobody waits for it. */
export const LONGEST_STEP_MS = 86_400_000

export async function partition(
  connections: Connections,
  schema: string,
  failures: Failures,
  days: number,
): Promise<void> {
  for (const step of partitionSteps(schema, days)) await runStep(connections, step, schema, failures)
}

async function runStep(connections: Connections, step: string, schema: string, failures: Failures): Promise<void> {
  for (let tries = 1; ; tries += 1) {
    const session = await connections.checkOut()
    try {
      await session.batch(`SET LOCAL lock_timeout = ${LOCK_MS}; SET LOCAL statement_timeout = 0; ${step}`)
      session.release()
      return
    } catch (error) {
      // The whole of it was undone.
      session.release(failures.cleaned(error))
      if (hasState(error, LOCK_NOT_AVAILABLE) && tries < MOST_TRIES) {
        await new Promise<void>((done) => void systemClock().setTimer(done, AGAIN_MS, true))
        continue
      }
      if (!hasState(error, INSUFFICIENT_PRIVILEGE)) throw failures.asThrown(error)
      const cause = failures.cleaned(error)
      throw new MessagingWebhooksError('store_unmigrated', `The schema is ${quoteName(schema)}.`, { cause })
    }
  }
}

/** Refuses a schema whose partitions are not as long as they should be. `found` is undefined where it has none. */
export function checkDays(schema: string, found: number | undefined, wanted: number | undefined): void {
  if (wanted === undefined || wanted === found) return
  const has = found === undefined ? 'The events stand in one table' : `The partitions are of ${found} days`
  throw new MessagingWebhooksError(
    'store_unpartitioned',
    `${has} in the schema ${quoteName(schema)}; \`partitions.days\` is ${wanted}.`,
  )
}
