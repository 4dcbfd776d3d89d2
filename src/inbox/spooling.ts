/** The spools behind the inbox: one for outages of the store, with the way back, and one for events that the store refuses. */
import type { Clock } from '../runtime/clock.ts'
import { asOurs, MessagingWebhooksError } from '../public/errors.ts'
import { NO_MESSAGE, type StoreAvailability } from './availability.ts'
import { isForgotten } from './spool/segment.ts'
import { inStoreTime, newDeadline, type Deadline } from './in-store-time.ts'
import { createOutage } from './outage.ts'
import { admitAroundPoison } from './poison.ts'
import type { Spools } from './spool/spool.ts'
import type { Admission } from '../messages/commands.ts'
import type { Awaitable, MessageStore } from './store.ts'
import type { NewEvent } from '../messages/event-record.ts'
import { isError } from '../runtime/values.ts'

/**
 * Share of the response deadline that an event may wait for the last events of the spool. Must exceed the time a slow store
 * needs for two batches, otherwise the outage would not end under load.
 */
const PART_FOR_WAITING = 1 / 2

interface SpoolingOptions {
  readonly clock: Clock
  readonly storeTimeoutMs: number
  readonly availability: StoreAvailability
  readonly report: (error: MessagingWebhooksError) => void
  readonly openSpools: () => Promise<Spools>
  readonly openStore: () => Promise<MessageStore<object>>
  /** Writes one batch into the store within the deadline. No caller waits for it. */
  readonly write: (events: readonly NewEvent[], deadline: Deadline) => Awaitable<readonly (Admission | Error)[]>
  /** The usual admission, for events that waited in memory. */
  readonly admit: (event: NewEvent, timeoutMs: number) => Awaitable<Admission>
  /** Notifies that events have left the spool or that the outage is over. */
  readonly onWork: () => void
}

export type Spooling = Awaited<ReturnType<typeof openSpooling>>

export async function openSpooling(options: SpoolingOptions) {
  const { clock, storeTimeoutMs, availability, report, openSpools, openStore, write, admit, onWork } = options
  const spools = await openSpools()
  // Once per start, refused events move to the outage spool and are tried again; those refused again come back. If that spool
  // is full, the rest waits for the next start, and new events are not blocked.
  await spools.aside
    .empty((events) => spools.outage.append(events))
    .catch((error: unknown) => report(asOurs(error, 'spool_unusable')))

  /** No caller waits, so each write has its own deadline. */
  async function writePlainly(events: readonly NewEvent[]): Promise<readonly (Admission | Error)[]> {
    const deadline = newDeadline(clock, storeTimeoutMs)
    try {
      return await write(events, deadline)
    } finally {
      deadline.cancel?.()
    }
  }

  async function takeFromSpool(spooled: readonly NewEvent[]): Promise<void> {
    const target = await inStoreTime(clock, storeTimeoutMs, openStore())
    if (spooled.length === 0) {
      // A call without commands might not reach the server, and an answer to it would end the outage.
      const asked = async () => target.run([{ do: 'read', key: NO_MESSAGE }])
      await inStoreTime(clock, storeTimeoutMs, asked())
      return
    }
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

  /** Their identities are in the store now. Erase them there, so that they are never dispatched. */
  async function keepIdentities(target: MessageStore<object>, forgotten: readonly NewEvent[]): Promise<void> {
    await target.run(
      forgotten.map(({ id, messageKey: key }) => ({ do: 'erase' as const, key, ids: [id], dryRun: false })),
    )
  }

  const waitMs = storeTimeoutMs * PART_FOR_WAITING
  const outage = createOutage({
    clock,
    spool: spools.outage,
    waitMs,
    takeFromSpool,
    admit: async (event) => admit(event, storeTimeoutMs - waitMs),
    availability,
    onOver() {
      // `admission` may have found the store unavailable before the spool was open.
      availability.end('admission')
      onWork()
    },
  })
  return {
    outage,
    /** Size of the files. */
    get bytes(): number {
      return spools.outage.bytes + spools.aside.bytes
    },
    /** Whether the spool of the outage would keep a new event, as far as can be told without writing one. */
    canTake: () => spools.outage.canTake(),
    /** Erases matching events on their way to the store. Returns how many there were. */
    async forget(isMeant: (event: NewEvent) => boolean, dryRun: boolean): Promise<number> {
      await outage.spoolAll()
      let count = 0
      for (const spool of [spools.outage, spools.aside]) count += await spool.forget(isMeant, dryRun)
      return count
    },
    async close(): Promise<void> {
      await spools.outage.close()
      await spools.aside.close()
    },
  }
}
