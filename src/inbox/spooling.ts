/** What stands behind the inbox while the store is away: the spool of the outage, the way back from it, and what no store takes. */
import type { Clock } from '../runtime/clock.ts'
import { asOurs, MessagingWebhooksError } from '../public/errors.ts'
import type { Absence } from './absence.ts'
import { isForgotten } from './forgotten.ts'
import { inStoreTime, newPatience, type Patience } from './in-store-time.ts'
import { createOutage, type Outage } from './outage.ts'
import { admitAroundPoison } from './poison.ts'
import type { Spools } from './spool/spool.ts'
import type { Admission, Awaitable, NewEvent, OpenStore } from './store.ts'
import { isError } from '../runtime/values.ts'

/**
 * What part of the time of its answer an event may wait for the last ones of the spool. It must be longer than a store takes
 * for two batches, slow as it may be: else they would never come to an end under load.
 */
const PART_FOR_WAITING = 1 / 2

interface SpoolingOptions {
  readonly clock: Clock
  readonly storeTimeoutMs: number
  readonly absence: Absence
  readonly report: (error: MessagingWebhooksError) => void
  readonly openSpools: () => Promise<Spools>
  readonly openStore: () => Promise<OpenStore<object>>
  /** One batch into the store, in time, for nobody who waits for an answer. */
  readonly write: (events: readonly NewEvent[], patience: Patience) => Awaitable<readonly (Admission | Error)[]>
  /** The usual way, for what has waited in memory. */
  readonly admit: (event: NewEvent, timeoutMs: number) => Awaitable<Admission>
  /** Something came out of the spool, or the outage is over. */
  readonly onWork: () => void
}

export interface Spooling {
  readonly outage: Outage
  /** What the files take. */
  readonly bytes: number
  /** Whether the spool of the outage would keep what comes now, as far as can be told without writing an event. */
  canTake(): Promise<boolean>
  /** Forgets what is meant of all that is on its way to the store; says how many there were. */
  forget(isMeant: (event: NewEvent) => boolean, dryRun: boolean): Promise<number>
  close(): Promise<void>
}

export async function openSpooling(options: SpoolingOptions): Promise<Spooling> {
  const { clock, storeTimeoutMs, absence, report, openSpools, openStore, write, admit, onWork } = options
  const spools = await openSpools()
  // Once a start, by way of the other spool: what the store refuses still comes back here. Where that one is full, the rest
  // stays for the next start, and keeps nobody from what is to be taken now.
  await spools.aside
    .empty((events) => spools.outage.append(events))
    .catch((error: unknown) => report(asOurs(error, 'spool_unusable')))

  /** Nobody waits for an answer, so each write has a time of its own. */
  async function writePlainly(events: readonly NewEvent[]): Promise<readonly (Admission | Error)[]> {
    const patience = newPatience(clock, storeTimeoutMs)
    try {
      return await write(events, patience)
    } finally {
      patience.cancel?.()
    }
  }

  async function takeFromSpool(spooled: readonly NewEvent[]): Promise<void> {
    const target = await inStoreTime(clock, storeTimeoutMs, openStore())
    const forgotten = spooled.filter(isForgotten)
    const results = await admitAroundPoison(writePlainly, spooled, spooled.length)
    const refused = spooled.filter((_, index) => isError(results[index]))
    if (refused.length > 0) {
      await spools.aside.append(refused)
      report(
        new MessagingWebhooksError('event_refused', undefined, {
          cause: results.find((result) => isError(result)),
        }),
      )
    }
    if (forgotten.length > 0) await keepIdentities(target, forgotten)
    onWork()
  }

  /** Their identities are in the store now, and nothing shall be handed over for them. */
  async function keepIdentities(target: OpenStore<object>, forgotten: readonly NewEvent[]): Promise<void> {
    const targets = forgotten.map(({ id, messageKey }) => ({ messageKey, ids: [id] }))
    await target.forget({ targets, dryRun: false }, clock.now())
  }

  const waitMs = storeTimeoutMs * PART_FOR_WAITING
  const outage = createOutage({
    clock,
    spool: spools.outage,
    waitMs,
    takeFromSpool,
    admit: async (event) => admit(event, storeTimeoutMs - waitMs),
    absence,
    onOver() {
      // It was found away before there was a spool.
      absence.end('admission')
      onWork()
    },
  })
  return {
    outage,
    get bytes() {
      return spools.outage.bytes + spools.aside.bytes
    },
    canTake: () => spools.outage.canTake(),
    async forget(isMeant, dryRun) {
      await outage.spoolAll()
      let count = 0
      for (const spool of [spools.outage, spools.aside]) count += await spool.forget(isMeant, dryRun)
      return count
    },
    async close() {
      await spools.outage.close()
      await spools.aside.close()
    },
  }
}
