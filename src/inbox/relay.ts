/**
 * Moves spooled events into the store, in order, and removes them when the store has them. Killed between the two, it moves them
 * again: the store recognises the identities. So several processes may do this at once, although a lease makes it rare.
 *
 * While the store is unavailable, all new events go into the spool; afterwards only those of messages that the spool holds. So an
 * outage also ends under load.
 */
import type { Clock } from '../runtime/clock.ts'
import { failureLine } from '../runtime/failure-text.ts'
import { isError } from '../runtime/values.ts'
import { asOurs, MessagingWebhooksError } from '../public/errors.ts'
import type { Admission, Command } from '../messages/commands.ts'
import type { EventRecord, NewEvent } from '../messages/event-record.ts'
import { NO_PLACE } from '../messages/order.ts'
import { NO_MESSAGE, type StoreAvailability } from './availability.ts'
import { inStoreTime, newDeadline, type Deadline } from './in-store-time.ts'
import { admitAroundPoison } from './poison.ts'
import { isErased, type Erased, type Spool, type Spooled } from './spool.ts'
import type { Awaitable, MessageStore } from './store.ts'

export type Relay = ReturnType<typeof createRelay>

const FIRST_LOOK_MS = 250
const LONGEST_LOOK_MS = 2_000
/** How soon to look again while another process moves events. */
const BUSY_LOOK_MS = 100

interface RelayOptions {
  readonly clock: Clock
  readonly storeTimeoutMs: number
  readonly spool: Pick<Spool, 'isActive' | 'first' | 'last' | 'take' | 'remove' | 'refuse'>
  readonly availability: StoreAvailability
  readonly report: (error: MessagingWebhooksError) => void
  /** Masked in the stored errors of refused events. */
  readonly secrets: () => readonly string[]
  readonly openStore: () => Promise<MessageStore<object>>
  /** Writes one batch into the store within the deadline. */
  readonly write: (events: readonly NewEvent[], deadline: Deadline) => Awaitable<readonly (Admission | Error)[]>
  /** Notifies that events have left the spool, or that the store is back. */
  readonly onWork: () => void
}

export function createRelay(options: RelayOptions) {
  const { clock, storeTimeoutMs, spool, availability, report, secrets, openStore, write, onWork } = options
  let isRunning = false
  let isStopped = false
  let lookMs = FIRST_LOOK_MS
  let cancelLook = (): void => {}
  /** The last row of the outage, or of what this process found. Reports may keep other messages in the spool for longer. */
  let backlogEnd: number | undefined
  let moved = 0
  /** A failure of the file, or a full store, was reported and lasts. */
  let isReported = false

  /** Starts to move events, soon. */
  function wake(): void {
    if (isRunning || isStopped) return
    isRunning = true
    backlogEnd = spool.last
    lookMs = FIRST_LOOK_MS
    look(lookMs)
  }

  function look(inMs: number): void {
    cancelLook = clock.setTimer(() => void run(), inMs)
  }

  async function run(): Promise<void> {
    try {
      while (!isStopped) {
        const isBusy = !(await step())
        lookMs = FIRST_LOOK_MS
        isReported = false
        if (backlogEnd !== undefined && spool.first > backlogEnd) endBacklog()
        if (!spool.isActive) break
        if (isBusy) {
          look(BUSY_LOOK_MS)
          return
        }
      }
      isRunning = false
    } catch {
      lookMs = Math.min(lookMs * 2, LONGEST_LOOK_MS)
      if (!isStopped) look(lookMs)
    }
  }

  function endBacklog(): void {
    availability.end('spool', moved)
    // `admission` may have found the store unavailable before the spool was open.
    availability.end('admission')
    backlogEnd = undefined
    moved = 0
    onWork()
  }

  function isBack(): void {
    if (relay.isUnavailable) backlogEnd = spool.last
    relay.isUnavailable = false
  }

  /** Moves one batch. False while another process moves events. Rejects if the store or the file fails. */
  async function step(): Promise<boolean> {
    let batch: readonly Spooled[] | undefined = []
    let failure: unknown
    try {
      batch = await spool.take()
    } catch (error) {
      // The store may be back nevertheless.
      failure = error
    }
    if (batch !== undefined && batch.length > 0) await move(batch)
    else if (relay.isUnavailable) await inStore(ask)
    isBack()
    if (failure !== undefined && spool.isActive) throw reported(asOurs(failure, 'spool_unusable'))
    return batch !== undefined
  }

  async function move(batch: readonly Spooled[]): Promise<void> {
    const results = await inStore(() => admitAll(batch))
    isBack()
    const refused = batch.flatMap((spooled, index) => {
      const result = results[index]
      return isError(result) ? [[spooled, failureLine(result, secrets())] as const] : []
    })
    if (refused.length > 0) {
      await spool.refuse(refused)
      report(new MessagingWebhooksError('event_refused', undefined, { cause: results.find(isError) }))
    }
    const accepted = batch.filter((_, index) => !isError(results[index]) && results[index] !== 'full')
    await spool.remove(accepted)
    if (backlogEnd !== undefined) moved += accepted.length
    onWork()
    if (accepted.length + refused.length < batch.length) throw reported(new MessagingWebhooksError('store_full'))
  }

  async function inStore<T>(work: () => Promise<T>): Promise<T> {
    try {
      return await work()
    } catch (error) {
      relay.begin(error)
      throw error
    }
  }

  /** For each event its admission, or why the store refuses it. */
  async function admitAll(batch: readonly Spooled[]): Promise<readonly (Admission | Error | undefined)[]> {
    const target = await inStoreTime(clock, storeTimeoutMs, openStore())
    const events = batch.flatMap(({ event }) => (isErased(event) ? [] : [event]))
    const erased = batch.flatMap(({ event }) => (isErased(event) ? [event] : []))
    const results = events.length === 0 ? [] : await admitAroundPoison(writeInTime, events, events.length)
    if (erased.length > 0) {
      const erasing = async () => target.run(erased.flatMap(commandsOf))
      await inStoreTime(clock, storeTimeoutMs, erasing())
    }
    const ofEvents = results.values()
    return batch.map(({ event }) => (isErased(event) ? 'new' : ofEvents.next().value))
  }

  /** No caller waits, so each write has its own deadline. */
  async function writeInTime(events: readonly NewEvent[]): Promise<readonly (Admission | Error)[]> {
    const deadline = newDeadline(clock, storeTimeoutMs)
    try {
      return await write(events, deadline)
    } finally {
      deadline.cancel?.()
    }
  }

  async function ask(): Promise<void> {
    const target = await inStoreTime(clock, storeTimeoutMs, openStore())
    // A call without commands might not reach the server, and an answer to it would end the outage.
    const asked = async () => target.run([{ do: 'read', key: NO_MESSAGE }])
    await inStoreTime(clock, storeTimeoutMs, asked())
  }

  /** Reports each failure that lasts once. */
  function reported(error: MessagingWebhooksError): MessagingWebhooksError {
    if (!isReported) report(error)
    isReported = true
    return error
  }

  const relay = {
    /** Whether all new events go into the spool. A field instead of a getter, because every event reads it. */
    isUnavailable: false,
    /** Sends all events through the spool, because the store has failed. Reports that once per outage. */
    begin(cause: unknown): void {
      if (isStopped) return
      availability.begin('spool', new MessagingWebhooksError('store_outage', undefined, { cause }))
      relay.isUnavailable = true
      wake()
    },
    wake,
    stop(): void {
      isStopped = true
      cancelLook()
    },
  }
  return relay
}

/** 1970, which reveals nothing about the arrival. */
const NO_TIME = 0

const NO_RECORD: EventRecord = {
  project: undefined,
  kind: undefined,
  timestamp: NO_TIME,
  timestampSource: 'arrival',
  receivedAtMs: NO_TIME,
  proof: 'authKey',
  problem: 'damaged',
}

/** Records the identity of an erased event. Both commands are one write, so the event is never dispatched. */
function commandsOf({ id, messageKey: key }: Erased): readonly Command[] {
  const event = { id, messageKey: key, ...NO_PLACE, reorderWaitMs: 0, record: NO_RECORD, raw: Buffer.alloc(0) }
  return [
    { do: 'admit', key, event },
    { do: 'erase', key, ids: [id], dryRun: false },
  ]
}
