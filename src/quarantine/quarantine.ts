/**
 * Keeps refused requests without a valid proof for a while. The service never sends them again, so a key rotation, a faulty
 * deployment or a wrong clock would otherwise lose real callbacks permanently.
 */
import { join } from 'node:path'
import { asOurs, MessagingWebhooksError } from '../public/errors.ts'
import type { ArrivedCallback } from '../public/callback.ts'
import { checkOptions } from '../runtime/check-options.ts'
import { inTurn } from '../runtime/concurrency.ts'
import type { Logger } from '../runtime/logger.ts'
import { recordOf } from '../runtime/values.ts'
import { nodeFs } from '../disk-log/file-system.ts'
import { readSentBody, type ReadBody } from '../verify/body.ts'
import { memoryKeeper } from './keeper.ts'
import { createNames, createRecheck, MAX_NAMES } from './recheck.ts'
import { createRequestLog } from './request-log.ts'
import {
  isLikelyReal,
  keepable,
  QUARANTINE_CLASSES,
  standingOf,
  verifiableAtStart,
  type KeptRequest,
  type Refused,
} from './request.ts'
import { reverifyAll, type Ordered, type ReverifyStages, type Run } from './reverify.ts'
import { listSchema, reverifySchema, show, type Quarantine } from './surface.ts'

interface QuarantineOptions<E extends Ordered> extends ReverifyStages<E> {
  /** The option `quarantine`. Undefined if nothing is kept. */
  readonly limits:
    | { readonly maxBytes: number; readonly maxAgeHours: number; readonly folder?: string | false | undefined }
    | undefined
  /** The folder of the spool, or the one that the store suggests for it. */
  readonly spoolFolder: string | undefined
  /** Whether credentials are looked up by the name in the body. */
  readonly looksUpNames: boolean
  readonly report: (error: MessagingWebhooksError) => void
  readonly logger: Logger
  /** Live keys, masked by value when requests are shown. */
  readonly secrets: () => readonly string[]
}

export type GuardedQuarantine = ReturnType<typeof createQuarantine>
export type QuarantineIntake = GuardedQuarantine['intake']

const HOUR_MS = 3_600_000
/** Deadline for the last writes, which usually take a fraction of it. */
const CLOSE_MS = 3_000

export function createQuarantine<E extends Ordered>(options: QuarantineOptions<E>) {
  const { clock, report, logger, secrets, limits } = options
  const folder = limits && folderOf(limits.folder, options.spoolFolder)
  const requestLog = folder === undefined ? undefined : createRequestLog({ fs: nodeFs, clock, folder, report })
  const { maxBytes, maxAgeHours } = limits ?? { maxBytes: 0, maxAgeHours: 0 }
  const keeper = memoryKeeper({ maxBytes, maxAgeMs: maxAgeHours * HOUR_MS }, requestLog?.changes)
  const stopping = new AbortController()
  /** Runs, one at a time. */
  const turns = inTurn()
  let cancelExpiry: (() => void) | undefined
  let saidFull = false
  let isVerifiedAtStart = false

  const names = createNames()
  const recheck = createRecheck({
    clock,
    names,
    count: () => keeper.count('unchecked'),
    waiting: () => keeper.unchecked(),
    run: async (pick) =>
      (await turns(() => reverify(pick(), { clockOffsetSeconds: 0, dryRun: false, signal: stopping.signal })))
        .failedNames,
    failed(error) {
      if (!stopping.signal.aborted) report(asOurs(error, 'internal'))
    },
  })

  /** Expired bodies contain keys, so a timer removes them on time. */
  function expire(): void {
    cancelExpiry?.()
    cancelExpiry = undefined
    const nextMs = keeper.expire(clock.now())
    if (nextMs !== undefined && !stopping.signal.aborted) cancelExpiry = clock.setTimer(expire, nextMs - clock.now())
  }

  /** Loads what an earlier process kept. Never rejects. */
  async function open(): Promise<void> {
    if (requestLog === undefined || stopping.signal.aborted) return
    await requestLog.open((remembered) => keeper.restore(remembered, clock.now()))
    expire()
    if (keeper.count('unchecked') > 0) recheck.schedule()
  }

  function reverify(
    requests: readonly KeptRequest[],
    { clockOffsetSeconds, dryRun, signal }: Pick<Run, 'clockOffsetSeconds' | 'dryRun' | 'signal'>,
  ) {
    return reverifyAll(options, {
      requests: [...names.inOrder(requests).values()].flat(),
      clockOffsetSeconds,
      dryRun,
      signal,
      admitted(request) {
        saidFull = false
        keeper.remove(request)
      },
      refused(request, why) {
        // With another clock offset a request may look worse than it is.
        if (clockOffsetSeconds !== 0 || dryRun) return
        if (request.unchecked || request.code !== why.code || request.offsetSeconds !== why.offsetSeconds)
          keeper.reclass(request, standingOf(request.callback, readSentBody(request.callback), why))
      },
      slow: names.slow,
    })
  }

  /**
   * Verifies again at the start, once: a restart with the pair of a rotation must not leave callbacks behind that arrived under
   * the earlier one. Never rejects.
   */
  async function verifyAtStart(): Promise<void> {
    if (isVerifiedAtStart) return
    isVerifiedAtStart = true
    await open()
    try {
      const { examined, admitted } = await turns(() => {
        expire()
        const maxNames = options.looksUpNames ? MAX_NAMES : Infinity
        const requests = verifiableAtStart(names.inOrder(keeper.all()), maxNames)
        return reverify(requests, { clockOffsetSeconds: 0, dryRun: false, signal: stopping.signal })
      })
      const waiting = keeper.likelyReal
      if (admitted + waiting === 0) return
      logger.warn(
        { code: 'quarantine_reverified', examined, admitted, waiting },
        `Verified the quarantine again: ${examined} examined, ${admitted} admitted, ${waiting} that look like callbacks ` +
          `still refused.${waiting === 0 ? '' : ' List them with receiver.quarantine.list(), and compare the keys.'}`,
      )
    } catch (error) {
      if (!stopping.signal.aborted) report(asOurs(error, 'internal'))
    }
  }

  const quarantine: Quarantine = {
    async reverify(given) {
      const { signal, ...run } = checkOptions(reverifySchema, given, 'quarantine.reverify')
      await open()
      const either = signal === undefined ? stopping.signal : AbortSignal.any([signal, stopping.signal])
      const result = await turns(() => {
        expire()
        return reverify(keeper.all(), { ...run, signal: either })
      })
      if (result.lookupError !== undefined) report(asOurs(result.lookupError, 'internal'))
      const { examined, admitted } = result
      return { examined, admitted, stillUnproved: examined - admitted }
    },
    async list(given) {
      const { after, limit, reveal } = checkOptions(listSchema, given, 'quarantine.list')
      await open()
      expire()
      const from = after === undefined ? 0 : Number(after)
      const following = keeper.all().filter(({ sequence }) => sequence > from)
      const page = following.slice(0, limit)
      const items = page.map((request) => show(request, { reveal, secrets: secrets() }))
      const next = page.at(-1)?.sequence
      return following.length > limit && next !== undefined ? { items, next: String(next) } : { items }
    },
    get size() {
      expire()
      return keeper.size
    },
    counts() {
      expire()
      return {
        ...recordOf(QUARANTINE_CLASSES, keeper.count),
        bytes: keeper.bytes,
        dropped: keeper.dropped,
      }
    },
    clear() {
      saidFull = false
      keeper.clear()
      expire()
    },
  }

  return {
    open,
    verifyAtStart,
    /** Number of kept requests that look like callbacks. */
    waiting(): number {
      expire()
      return keeper.likelyReal
    },
    intake: {
      /** Keeps a refused request if it is worth keeping. Never throws and never waits. */
      keep(callback: ArrivedCallback, body: ReadBody, refused: Refused): void {
        const kept = limits === undefined ? undefined : keepable(callback)
        if (kept === undefined) return
        const standing = standingOf(kept, body, refused)
        const droppedBefore = keeper.droppedCallbacks
        const outcome = keeper.keep(kept, standing)
        if (keeper.droppedCallbacks > droppedBefore && !saidFull) {
          saidFull = true
          report(new MessagingWebhooksError('quarantine_full'))
        }
        if (outcome !== 'kept') return
        if (cancelExpiry === undefined) expire()
        if (standing.unchecked) recheck.schedule()
      },
      /**
       * Called after a look-up of credentials: retries requests that could not be verified before. A name that proved a callback
       * is genuine.
       */
      lookedUp: recheck.lookedUp,
    },
    quarantine,
    /** Erases matching requests, also on the disk. Resolves to their number. */
    async forget(isMeant: (request: KeptRequest) => boolean, dryRun: boolean): Promise<number> {
      await open()
      const count = await turns(() => {
        const meant = keeper.all().filter(isMeant)
        if (!dryRun) for (const request of meant) keeper.remove(request)
        return Promise.resolve(meant.length)
      })
      if (count > 0 && !dryRun) await requestLog?.overwritten()
      return count
    },
    /** Aborts runs and sets no more timers. */
    stop(): void {
      recheck.stop()
      stopping.abort(new MessagingWebhooksError('receiver_closed'))
      cancelExpiry?.()
    },
    /** Writes pending requests, and warns about those that are lost with this process. Never rejects. */
    async close(): Promise<void> {
      await requestLog?.close(CLOSE_MS)
      const lost = (requestLog?.unwritten() ?? keeper.all()).filter(isLikelyReal).length
      if (lost === 0) return
      logger.warn(
        { code: 'quarantine_lost' },
        `Refused requests that look like callbacks are lost: ${lost}. Set \`quarantine.folder\`, or check its disk.`,
      )
    },
  }
}

/**
 * The configured folder, else one inside the spool folder. Undefined for memory only. `spool: false` does not disable it: the
 * quarantine must survive a restart.
 */
function folderOf(configured: string | false | undefined, spoolFolder: string | undefined): string | undefined {
  if (configured === false) return undefined
  return configured ?? (spoolFolder === undefined ? undefined : join(spoolFolder, 'quarantine'))
}
