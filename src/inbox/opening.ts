/**
 * Opens the store when the receiver starts. An unavailable store must not end the process: the service does not resend
 * callbacks, so the server must keep running to accept them into the spool.
 */
import { pause, systemClock, withDeadline } from '../runtime/clock.ts'
import type { ErrorCode } from '../public/error-table.ts'
import { asOurs, MessagingWebhooksError } from '../public/errors.ts'
import type { StoreAvailability } from './availability.ts'

/** Errors that a retry cannot fix. */
const PERMANENT: ReadonlySet<ErrorCode> = new Set<ErrorCode>([
  'options_invalid',
  'peer_missing',
  'receiver_closed',
  'spool_unusable',
  'store_bundled',
  'store_evicts',
  'store_forbidden',
  'store_foreign',
  'store_newer',
  'store_path_invalid',
  'store_unmigrated',
  'store_unsupported',
  'store_unusable_engine',
])

const FIRST_PAUSE_MS = 500
const LONGEST_PAUSE_MS = 5_000

/** The machine's clock, because the deadline must not depend on the receiver's clock. */
const clock = systemClock()

interface OpeningOptions {
  readonly storeTimeoutMs: number
  /** Opens the spool, then the store, and starts the dispatch. Can be called again after a rejection. */
  readonly open: () => Promise<void>
  /** The spool keeps callbacks while the store is unavailable. */
  readonly hasSpool: boolean
  readonly availability: StoreAvailability
  readonly isClosing: () => boolean
  /** Called with an error that a retry cannot fix, also after this has resolved. */
  readonly failed: (error: MessagingWebhooksError) => void
}

/**
 * Resolves when callbacks can be accepted: the store is open, or it is unavailable and there is a spool; opening then
 * continues. Without a spool it waits for the store. Rejects if retrying cannot help.
 */
export async function openOrKeepTrying(options: OpeningOptions): Promise<void> {
  const { storeTimeoutMs, open, hasSpool, availability, failed } = options
  const opened = open()
  try {
    // If the connection hangs, this attempt continues as the first of `keepTrying`.
    await withDeadline(clock, storeTimeoutMs, opened, () => {
      throw new MessagingWebhooksError('store_slow')
    })
  } catch (given) {
    const error = asOurs(given, 'store_failed')
    if (isPermanent(error)) {
      failed(error)
      throw error
    }
    // With a spool, the outage has reported the error.
    if (!hasSpool) availability.begin('dispatch', error)
    const trying = keepTrying(opened, options)
    if (!hasSpool) return trying
    // The caller has its answer. `failed` gets an error that ends the attempts.
    trying.catch(() => {})
  }
}

async function keepTrying(first: Promise<void>, options: OpeningOptions): Promise<void> {
  const { open, isClosing, availability, failed } = options
  let attempt = first
  for (let pauseMs = FIRST_PAUSE_MS; ; pauseMs = Math.min(2 * pauseMs, LONGEST_PAUSE_MS)) {
    try {
      await attempt
      availability.end('dispatch')
      return
    } catch (error) {
      if (isClosing()) throw new MessagingWebhooksError('receiver_closed')
      if (isPermanent(error)) {
        failed(error)
        throw error
      }
    }
    // The timer keeps the process alive while it waits for its store.
    await pause(clock, pauseMs)
    if (isClosing()) throw new MessagingWebhooksError('receiver_closed')
    attempt = open()
  }
}

function isPermanent(error: unknown): error is MessagingWebhooksError {
  return error instanceof MessagingWebhooksError && PERMANENT.has(error.code)
}
