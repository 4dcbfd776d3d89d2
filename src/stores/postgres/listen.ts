/**
 * Hears, on a connection of its own, that another process has admitted something. A connection that is half open is silent
 * as one on which nothing happens, and a pooler takes LISTEN and never delivers; so it is proved, at the start and every
 * minute, by a notification to itself by way of the pool. Whatever becomes of it, the store is asked now and then all the
 * same.
 */
import { createHash, randomUUID } from 'node:crypto'
import type { ClientBase } from 'pg'
import { withDeadline, type Clock } from '../../runtime/clock.ts'
import { MessagingWebhooksError } from '../../public/errors.ts'
import { quoteName } from './sql-text.ts'
import { createTelling, type Telling } from './telling.ts'

interface Listening extends Omit<Telling, 'stop'> {
  stop(): Promise<void>
}

interface ListenOptions {
  readonly clock: Clock
  readonly schema: string
  /** Undefined where nobody need be woken: then it only tells. */
  readonly connect: (() => ListenClient) | undefined
  /** Sends a notification by way of the pool. */
  readonly notify: (channel: string, payload: string) => Promise<unknown>
  readonly onWork: () => void
  readonly report: (error: MessagingWebhooksError) => void
  /** What may be shown of an error. */
  readonly cleaned: (error: unknown) => Error
  readonly connectTimeoutMs: number
  readonly pollIntervalMs: number
  readonly probeIntervalMs: number
}

/** A `pg` client that is not connected yet. */
export interface ListenClient extends ClientBase {
  end(): Promise<void>
}

/** How often to look for work while nobody tells of it, and how often to try to hear again. */
const DEAF_POLL_MS = 1_000
const LONGEST_PAUSE_MS = 10_000

/** The same for all processes of one schema; a name of a channel is an identifier, so it may not be long. */
function channelOf(schema: string): string {
  return `messaging_webhooks_${createHash('sha256').update(schema).digest().toString('hex', 0, 8)}`
}

export function startListening(options: ListenOptions): Listening {
  const { clock, connect, notify, onWork, report } = options
  const channel = channelOf(options.schema)
  const own = randomUUID()
  let client: ListenClient | undefined
  let hears = false
  let reported = false
  let stopped = false
  let pauseMs = DEAF_POLL_MS / 2
  let probes = 0
  let heardProbe: ((payload: string) => void) | undefined
  let cancelNext = (): void => {}
  let cancelPoll = (): void => {}
  // Where it fails, they look by themselves.
  const telling = createTelling(clock, () => notify(channel, `${own}!`).catch(() => {}))

  function heard(payload: string | undefined): void {
    if (payload?.startsWith(own) === true) heardProbe?.(payload)
    else onWork()
  }

  async function listen(): Promise<void> {
    if (stopped || connect === undefined) return
    const next = connect()
    client = next
    next.on('notification', (message) => heard(message.payload))
    next.on('error', () => lost(next))
    next.on('end', () => lost(next))
    try {
      const ready = async (): Promise<void> => {
        await next.connect()
        await next.query(`LISTEN ${quoteName(channel)}`)
      }
      await withDeadline(clock, options.connectTimeoutMs, ready(), () => {
        throw new Error('The connection that listens was not there in time.')
      })
      await probe(next)
    } catch (error) {
      drop(next)
      await deaf(error)
    }
  }

  /** Rejects where the notification does not come back. */
  async function probe(through: ListenClient): Promise<void> {
    const payload = `${own} ${(probes += 1)}`
    const came = new Promise<void>((resolve) => {
      heardProbe = (each) => {
        if (each === payload) resolve()
      }
    })
    await notify(channel, payload)
    await withDeadline(clock, 2 * options.connectTimeoutMs, came, () => {
      throw new Error('A notification to itself did not come back.')
    })
    if (through !== client) return
    // Something may have been told before it could be heard.
    if (!hears) onWork()
    hears = true
    reported = false
    pauseMs = DEAF_POLL_MS / 2
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

  /** The connection is gone by itself. */
  function lost(which: ListenClient): void {
    if (which !== client) return
    drop(which)
    void deaf(new Error('The connection that listens was lost.'))
  }

  function drop(which: ListenClient): void {
    if (which === client) client = undefined
    cancelNext()
    which.removeAllListeners('notification')
    void withDeadline(clock, options.connectTimeoutMs, which.end(), () => undefined).catch(() => {})
  }

  /** Tries again in a while. It is worth saying, once, where the database is there and only this does not work. */
  async function deaf(cause: unknown): Promise<void> {
    hears = false
    if (stopped) return
    poll()
    pauseMs = Math.min(pauseMs * 2, LONGEST_PAUSE_MS)
    cancelNext = clock.setTimer(() => void listen(), pauseMs)
    // Lost once is a restart of the server; lost again at once is not.
    if (reported || pauseMs <= DEAF_POLL_MS) return
    try {
      await notify(channel, own)
      reported = true
      report(new MessagingWebhooksError('store_deaf', undefined, { cause: options.cleaned(cause) }))
    } catch {
      // The database is away, which whoever asks it for something reports.
    }
  }

  function poll(): void {
    cancelPoll()
    if (stopped || connect === undefined) return
    const afterMs = hears ? options.pollIntervalMs : Math.min(DEAF_POLL_MS, options.pollIntervalMs)
    cancelPoll = clock.setTimer(() => {
      onWork()
      poll()
    }, afterMs)
  }

  poll()
  void listen()
  return {
    ...telling,
    async stop() {
      stopped = true
      const told = telling.stop()
      cancelNext()
      cancelPoll()
      const last = client
      client = undefined
      if (last !== undefined) await withDeadline(clock, options.connectTimeoutMs, last.end(), () => undefined)
      await told
    },
  }
}
