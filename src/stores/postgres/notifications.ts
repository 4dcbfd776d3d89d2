/**
 * Notifies other processes of events admitted here, and listens on a connection of its own for events that other processes
 * admitted. A half-open connection looks like an idle one, and a pooler accepts LISTEN without delivering notifications. So the
 * listener sends itself a notification through the pool, at the start and every minute. It also polls the store.
 */
import { createHash, randomUUID } from 'node:crypto'
import type { ClientBase } from 'pg'
import { systemClock, withDeadline, type Clock } from '../../runtime/clock.ts'
import { MessagingWebhooksError } from '../../public/errors.ts'
import { sql } from '../../runtime/sql.ts'
import { createPolling } from '../sql/open.ts'
import { sendQuery } from './query.ts'
import type { Settings } from './settings.ts'
import { quoteName } from './statements.ts'

interface ListenOptions extends Pick<Settings, 'schema' | 'connectTimeoutMs' | 'pollIntervalMs' | 'probeIntervalMs'> {
  /** Undefined if this process claims nothing. It then only notifies others. */
  readonly connect: (() => ListenClient) | undefined
  /** Sends a notification through the pool. */
  readonly notify: (channel: string, payload: string) => Promise<unknown>
  readonly onWork: () => void
  readonly report: (error: MessagingWebhooksError) => void
  /** Removes secrets from an error. */
  readonly cleaned: (error: unknown) => Error
}

/** A `pg` client that is not connected yet. */
export interface ListenClient extends ClientBase {
  end(): Promise<void>
}

/** How often to poll for work without notifications, and how often to try to listen again. */
const UNNOTIFIED_POLL_MS = 1_000
const LONGEST_PAUSE_MS = 10_000

/** The channel is the same for all processes of one schema. Channel names are identifiers and must be short. */
function channelOf(schema: string): string {
  return `messaging_webhooks_${createHash('sha256').update(schema).digest().toString('hex', 0, 8)}`
}

export function startListening(options: ListenOptions) {
  const { connect, notify, onWork, report } = options
  const clock = systemClock()
  const channel = channelOf(options.schema)
  const own = randomUUID()
  let client: ListenClient | undefined
  let isListening = false
  let reported = false
  let stopped = false
  let pauseMs = UNNOTIFIED_POLL_MS / 2
  let probes = 0
  let onProbe: ((payload: string) => void) | undefined
  let cancelNext = (): void => {}
  const polling = createPolling(onWork, () =>
    isListening ? options.pollIntervalMs : Math.min(UNNOTIFIED_POLL_MS, options.pollIntervalMs),
  )
  // If a notification fails, the other processes find the events by polling.
  const notifier = createNotifier(clock, () => notify(channel, `${own}!`).catch(() => {}))

  function received(payload: string | undefined): void {
    if (payload?.startsWith(own) === true) onProbe?.(payload)
    else onWork()
  }

  async function listen(): Promise<void> {
    if (stopped || connect === undefined) return
    const next = connect()
    client = next
    next.on('notification', (message) => received(message.payload))
    next.on('error', () => lost(next))
    next.on('end', () => lost(next))
    try {
      const ready = async (): Promise<void> => {
        await next.connect()
        await sendQuery(next, { text: sql`LISTEN ${quoteName(channel)}` })
      }
      await withDeadline(clock, options.connectTimeoutMs, ready(), () => {
        throw new Error('The listening connection was not open in time.')
      })
      await probe(next)
    } catch (error) {
      drop(next)
      await deaf(error)
    }
  }

  /** Rejects if the notification does not arrive. */
  async function probe(through: ListenClient): Promise<void> {
    const payload = `${own} ${(probes += 1)}`
    const came = new Promise<void>((resolve) => {
      onProbe = (each) => {
        if (each === payload) resolve()
      }
    })
    await notify(channel, payload)
    await withDeadline(clock, 2 * options.connectTimeoutMs, came, () => {
      throw new Error('A notification that the store sent to itself did not arrive.')
    })
    if (through !== client) return
    // A notification may have been sent before this connection listened.
    if (!isListening) onWork()
    isListening = true
    reported = false
    pauseMs = UNNOTIFIED_POLL_MS / 2
    cancelNext = clock.setTimer(() => void probeAgain(through), options.probeIntervalMs)
  }

  async function probeAgain(through: ListenClient): Promise<void> {
    try {
      await probe(through)
    } catch (error) {
      if (through !== client) return
      drop(through)
      await deaf(error)
    }
  }

  /** Called when a connection closed unexpectedly. */
  function lost(which: ListenClient): void {
    if (which !== client) return
    drop(which)
    void deaf(new Error('The listening connection was lost.'))
  }

  function drop(which: ListenClient): void {
    if (which === client) client = undefined
    cancelNext()
    which.removeAllListeners('notification')
    void withDeadline(clock, options.connectTimeoutMs, which.end(), () => undefined).catch(() => {})
  }

  /** Tries again later. Logs once if the database is available and only listening fails. */
  async function deaf(cause: unknown): Promise<void> {
    isListening = false
    if (stopped) return
    polling.restart()
    pauseMs = Math.min(pauseMs * 2, LONGEST_PAUSE_MS)
    cancelNext = clock.setTimer(() => void listen(), pauseMs)
    // The first loss may be a restart of the server, so report only the second.
    if (reported || pauseMs <= UNNOTIFIED_POLL_MS) return
    try {
      await notify(channel, own)
      reported = true
      report(new MessagingWebhooksError('store_polling', undefined, { cause: options.cleaned(cause) }))
    } catch {
      // The database is unavailable. The next operation reports that.
    }
  }

  if (connect !== undefined) polling.restart()
  void listen()
  return {
    ...notifier,
    async stop(): Promise<void> {
      stopped = true
      const lastNotice = notifier.stop()
      cancelNext()
      polling.stop()
      const last = client
      client = undefined
      if (last !== undefined) await withDeadline(clock, options.connectTimeoutMs, last.end(), () => undefined)
      await lastNotice
    },
  }
}

/** How long this process has to claim the events that it admitted before the others are notified. */
const OWN_TIME_MS = 10

/** Notifies other processes of events admitted here, unless this process has claimed them by then. `send` never rejects. */
export function createNotifier(clock: Clock, send: () => Promise<unknown>) {
  let isSending = false
  /** Number of batches not announced yet. */
  let unannounced = 0
  /** Total number of batches, and of the batches that were announced or that a claim here emptied. */
  let left = 0
  let seenTo = 0
  let isWaiting = false
  let cancel = (): void => {}

  async function sendNow(): Promise<void> {
    isSending = true
    while (unannounced > 0) {
      unannounced = 0
      await send()
    }
    isSending = false
  }

  /** Notifies the other processes soon, and once for several calls. */
  function notify(): void {
    unannounced += 1
    if (!isSending) void sendNow()
  }

  function notifyLater(): void {
    isWaiting = true
    const due = left
    cancel = clock.setTimer(() => {
      isWaiting = false
      if (seenTo < due) {
        seenTo = left
        notify()
      }
      // Batches that arrived meanwhile have their own delay.
      if (seenTo < left) notifyLater()
    }, OWN_TIME_MS)
  }

  return {
    notify,
    /** Like `notify`, for a process that claims too: notifies only of events that it has not claimed after `OWN_TIME_MS`. */
    notifyOfRemaining(): void {
      left += 1
      if (!isWaiting) notifyLater()
    },
    /** Called when a claim begins. The caller must call the returned function once nothing more is due. */
    claiming(): () => void {
      const before = left
      return () => {
        seenTo = Math.max(seenTo, before)
      }
    },
    /** Notifies at once of unclaimed events, because this process claims nothing more. */
    async stop(): Promise<void> {
      cancel()
      if (seenTo < left) await send()
    },
  }
}
