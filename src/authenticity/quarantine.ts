/**
 * Requests without a valid proof are refused and kept for a while, because the sender never sends them again: a rotation,
 * a bad deploy or a wrong clock would otherwise lose real callbacks for good.
 */
import { MessagingWebhooksError, OptionsError } from '../errors.ts'
import { readSentBody, type ReadBody } from './body.ts'
import { memoryKeeper, type Keeper } from './quarantine/keeper.ts'
import { createRecheck } from './quarantine/recheck.ts'
import { keepable, standingOf, type ArrivedCallback, type KeptRequest, type Refused } from './quarantine/request.ts'
import { reverifyAll, type Ordered, type ReverifyStages } from './quarantine/reverify.ts'
import { show } from './quarantine/shown.ts'
import type { ListOptions, Quarantine, QuarantinePage } from './quarantine/surface.ts'

/** What the stages need of it. */
export interface QuarantineIntake {
  /** Keeps a refused request, where it is worth it. Never throws and never waits. */
  keep(callback: ArrivedCallback, body: ReadBody, refused: Refused): void
  /** Credentials were looked up, so those that could not be before may be tried again. */
  lookedUp(): void
}

interface QuarantineOptions<E extends Ordered> extends ReverifyStages<E> {
  /** Undefined where nothing shall be kept. */
  readonly keeper: Keeper | undefined
  readonly report: (error: MessagingWebhooksError) => void
  /** Live keys, which are masked by value too where requests are shown. */
  readonly secrets: () => readonly string[]
}

export interface GuardedQuarantine {
  readonly intake: QuarantineIntake
  readonly quarantine: Quarantine
  /** Ends what runs, and sets no timer any more. */
  stop(): void
}

const ITEMS_A_PAGE = 100

export function createQuarantine<E extends Ordered>(options: QuarantineOptions<E>): GuardedQuarantine {
  const { clock, report, secrets } = options
  const keeper = options.keeper ?? memoryKeeper({ maxBytes: 0, maxAgeMs: 0 })
  const stopping = new AbortController()
  let last: Promise<unknown> = Promise.resolve()
  let cancelExpiry: (() => void) | undefined
  let saidFull = false

  const recheck = createRecheck({
    clock,
    count: () => keeper.count('unchecked'),
    waiting: () => keeper.unchecked(),
    run: async (pick) => (await inTurn(() => reverify(pick(), 0, stopping.signal))).failedNames,
    failed(error) {
      if (!stopping.signal.aborted) report(asOurs(error))
    },
  })

  /** Expired bodies hold keys, so they go when their time is over, though nobody asks. */
  function expire(): void {
    cancelExpiry?.()
    cancelExpiry = undefined
    const nextMs = keeper.expire(clock.now())
    if (nextMs !== undefined && !stopping.signal.aborted) cancelExpiry = clock.setTimer(expire, nextMs - clock.now())
  }

  /** One run at a time. */
  function inTurn<T>(run: () => Promise<T>): Promise<T> {
    const result = last.then(run)
    last = result.catch(() => undefined)
    return result
  }

  function reverify(requests: readonly KeptRequest[], clockOffsetSeconds: number, signal: AbortSignal) {
    return reverifyAll(options, {
      requests,
      clockOffsetSeconds,
      signal,
      admitted(request) {
        saidFull = false
        keeper.remove(request)
      },
      refused(request, why) {
        // By another clock it may look worse than it is.
        if (clockOffsetSeconds !== 0) return
        if (request.unchecked || request.code !== why.code || request.offsetSeconds !== why.offsetSeconds)
          keeper.reclass(request, standingOf(request.callback, readSentBody(request.callback), why))
      },
    })
  }

  function list({ after, limit = ITEMS_A_PAGE, reveal = false }: ListOptions): QuarantinePage {
    expire()
    const from = after === undefined ? 0 : Number(after)
    const following = keeper.all().filter(({ sequence }) => sequence > from)
    const page = following.slice(0, limit)
    const items = page.map((request) => show(request, { reveal, secrets: secrets() }))
    const next = page.at(-1)?.sequence
    return following.length > limit && next !== undefined ? { items, next: String(next) } : { items }
  }

  return {
    intake: {
      keep(callback, body, refused) {
        const kept = options.keeper === undefined ? undefined : keepable(callback)
        if (kept === undefined) return
        const standing = standingOf(kept, body, refused)
        const outcome = keeper.keep(kept, standing)
        if (outcome === 'dropped' && standing.class !== 'rest' && !saidFull) {
          saidFull = true
          report(new MessagingWebhooksError('quarantine_full'))
        }
        if (outcome !== 'kept') return
        if (cancelExpiry === undefined) expire()
        if (standing.unchecked) recheck.schedule()
      },
      lookedUp: recheck.lookedUp,
    },
    quarantine: {
      async reverify({ clockOffsetSeconds = 0, signal } = {}) {
        if (!Number.isFinite(clockOffsetSeconds))
          throw new OptionsError('reverify: clockOffsetSeconds is no number of seconds.')
        const either = signal === undefined ? stopping.signal : AbortSignal.any([signal, stopping.signal])
        const result = await inTurn(() => {
          expire()
          return reverify(keeper.all(), clockOffsetSeconds, either)
        })
        if (result.lookupError !== undefined) report(asOurs(result.lookupError))
        const { examined, admitted } = result
        return { examined, admitted, stillUnproved: examined - admitted }
      },
      list: (page = {}) => new Promise((resolve) => resolve(list(page))),
      get size() {
        expire()
        return keeper.size
      },
      counts() {
        expire()
        return {
          provedButStale: keeper.count('provedButStale'),
          unverified: keeper.count('unverified'),
          looksLikeOurs: keeper.count('looksLikeOurs'),
          rest: keeper.count('rest'),
          bytes: keeper.bytes,
          dropped: keeper.dropped,
        }
      },
      clear() {
        saidFull = false
        keeper.clear()
        expire()
      },
    },
    stop() {
      recheck.stop()
      stopping.abort(new MessagingWebhooksError('receiver_closed'))
      cancelExpiry?.()
    },
  }
}

function asOurs(error: unknown): MessagingWebhooksError {
  if (error instanceof MessagingWebhooksError) return error
  return new MessagingWebhooksError('internal', undefined, { cause: error })
}
