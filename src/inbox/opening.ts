/**
 * Opening the store as the receiver starts. A store that is away is no reason to end the process: the service sends nothing again, so
 * a callback that comes meanwhile must find a server, and a spool where there is one.
 */
import { pause, systemClock, withDeadline } from '../runtime/clock.ts'
import type { ErrorCode } from '../public/error-table.ts'
import { asOurs, MessagingWebhooksError } from '../public/errors.ts'
import type { Absence } from './absence.ts'

/** What waiting does not cure: somebody has to change something. */
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
])

const FIRST_PAUSE_MS = 500
const LONGEST_PAUSE_MS = 5_000

/** The machine's own: whatever clock the receiver has, the store is opened in time. */
const clock = systemClock()

interface OpeningOptions {
  readonly storeTimeoutMs: number
  /** Opens the spool first, then the store, and begins to dispatch. May be called again where it rejects. */
  readonly open: () => Promise<void>
  /** What comes is kept in the spool as long as the store is away. */
  readonly hasSpool: boolean
  readonly absence: Absence
  readonly isClosing: () => boolean
}

/**
 * Resolves when callbacks can be taken: the store is open, or it is away and there is a spool, and then it goes on trying. Without a
 * spool it waits for the store. Rejects for what waiting does not cure.
 */
export async function openOrKeepTrying(options: OpeningOptions): Promise<void> {
  const { storeTimeoutMs, open, hasSpool, absence } = options
  const opened = open()
  try {
    // A connection may hang: then the attempt goes on, and is the first one of those below.
    await withDeadline(clock, storeTimeoutMs, opened, () => {
      throw new MessagingWebhooksError('store_slow')
    })
  } catch (given) {
    const error = asOurs(given, 'store_failed')
    if (isPermanent(error)) throw error
    // With a spool, its outage has said so.
    if (!hasSpool) absence.begin('dispatch', error)
    const trying = keepTrying(opened, options)
    if (!hasSpool) return trying
    // Whoever starts has its answer; what is wrong was reported.
    trying.catch(() => {})
  }
}

async function keepTrying(first: Promise<void>, { open, isClosing, absence }: OpeningOptions): Promise<void> {
  let attempt = first
  for (let pauseMs = FIRST_PAUSE_MS; ; pauseMs = Math.min(2 * pauseMs, LONGEST_PAUSE_MS)) {
    try {
      await attempt
      absence.end('dispatch')
      return
    } catch (error) {
      if (isClosing()) throw new MessagingWebhooksError('receiver_closed')
      if (isPermanent(error)) throw error
    }
    // A process that waits for its store is not over.
    await pause(clock, pauseMs)
    if (isClosing()) throw new MessagingWebhooksError('receiver_closed')
    attempt = open()
  }
}

function isPermanent(error: unknown): boolean {
  return error instanceof MessagingWebhooksError && PERMANENT.has(error.code)
}
