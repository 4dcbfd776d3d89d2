/**
 * Keeps refused requests without a valid proof for a while. The service never sends them again, so a key rotation, a faulty
 * deployment or a wrong clock would otherwise lose real callbacks permanently.
 */
import { asOurs, MessagingWebhooksError } from '../public/errors.ts'
import type { ArrivedCallback } from '../public/callback.ts'
import { checkOptions } from '../runtime/check-options.ts'
import { inTurn } from '../runtime/concurrency.ts'
import type { Logger } from '../runtime/logger.ts'
import { recordOf } from '../runtime/values.ts'
import type { LocalFile } from '../local-file/local-file.ts'
import { readSentBody, type ReadBody } from '../verify/body.ts'
import { createKept } from './kept.ts'
import { createNames, createRecheck, MAX_NAMES } from './recheck.ts'
import {
  BYTES_AT_START,
  bytesOf,
  keepable,
  QUARANTINE_CLASSES,
  standingOf,
  verifiableAtStart,
  type KeptRequest,
  type Refusal,
} from './request.ts'
import { reverifyAll, type Ordered, type ReverifyStages, type Run } from './reverify.ts'
import { listSchema, reverifySchema, show, type Quarantine } from './surface.ts'

interface QuarantineOptions<E extends Ordered> extends ReverifyStages<E> {
  /** The option `quarantine`. Undefined if nothing is kept. */
  readonly limits: { readonly maxBytes?: number | undefined; readonly maxAgeHours: number } | undefined
  /** Keeps requests beyond the end of the process. Undefined to keep them in memory. */
  readonly file: LocalFile | undefined
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
/** Requests that are read at once. */
const A_PAGE = { limit: 20_000, maxBytes: 16 * 1024 * 1024 }
/** Names of which a run picks some. Names with as many requests take turns. */
const NAMES_READ = 1_000

export function createQuarantine<E extends Ordered>(options: QuarantineOptions<E>) {
  const { clock, report, logger, secrets, limits } = options
  const keeper = createKept({
    clock,
    file: options.file,
    maxBytes: limits === undefined ? 0 : limits.maxBytes,
    maxAgeMs: (limits?.maxAgeHours ?? 0) * HOUR_MS,
    report,
    onChange() {
      expire()
      sayFull()
      if (keeper.count('unchecked') > 0) recheck.schedule()
    },
  })
  const stopping = new AbortController()
  /** Runs, one at a time. */
  const turns = inTurn()
  let cancelExpiry: (() => void) | undefined
  let saidFull = false
  /** `droppedCallbacks` at the last look. */
  let droppedSeen = 0
  let isVerifiedAtStart = false

  const names = createNames()
  const AGAIN = { clockOffsetSeconds: 0, dryRun: false, signal: stopping.signal }
  const recheck = createRecheck({
    clock,
    names,
    count: () => keeper.count('unchecked'),
    waiting: () => keeper.uncheckedNames(NAMES_READ),
    run: (picked) => turns(() => reverify(pagesOf({ uncheckedOf: [...picked] }), AGAIN)),
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
    if (!stopping.signal.aborted) await keeper.open()
  }

  /** The requests that have arrived until now. Counted, because the clock may have been set back since. */
  async function* pagesOf(
    only: { readonly uncheckedOf?: readonly (string | undefined)[] } = {},
  ): AsyncGenerator<readonly KeptRequest[]> {
    let left = keeper.size
    for (let after = 0; left > 0;) {
      const page = (await keeper.page({ ...only, after, ...A_PAGE })).slice(0, left)
      if (page.length === 0) return
      left -= page.length
      after = page.at(-1)?.sequence ?? 0
      yield [...names.inOrder(page).values()].flat()
    }
  }

  /** What a start verifies again, as one page. */
  async function* pageAtStart(): AsyncGenerator<readonly KeptRequest[]> {
    const classes = [['unverified', 'looksLikeOurs'], ['rest']] as const
    const found: KeptRequest[] = []
    let left = BYTES_AT_START
    for (const some of classes)
      for (let after = 0; left > 0;) {
        const page = await keeper.page({ classes: some, after, limit: A_PAGE.limit, maxBytes: left })
        found.push(...page)
        left -= page.reduce((sum, request) => sum + bytesOf(request), 0)
        if (page.length === 0) break
        after = page.at(-1)?.sequence ?? 0
      }
    const maxNames = options.looksUpNames ? MAX_NAMES : Infinity
    yield verifiableAtStart(names.inOrder(found), maxNames)
  }

  function sayFull(): void {
    if (keeper.droppedCallbacks === droppedSeen) return
    droppedSeen = keeper.droppedCallbacks
    if (!saidFull) report(new MessagingWebhooksError('quarantine_full'))
    saidFull = true
  }

  async function reverify(
    pages: Run['pages'],
    { clockOffsetSeconds, dryRun, signal }: Pick<Run, 'clockOffsetSeconds' | 'dryRun' | 'signal'>,
  ) {
    const left = { count: 0 }
    const verifying = reverifyAll(options, {
      pages,
      clockOffsetSeconds,
      dryRun,
      signal,
      async admitted(requests) {
        saidFull = false
        left.count += requests.length
        await keeper.remove(requests)
      },
      async refused(request, why) {
        // With another clock offset a request may look worse than it is.
        if (clockOffsetSeconds !== 0 || dryRun) return
        if (request.unchecked || request.code !== why.code || request.offsetSeconds !== why.offsetSeconds)
          await keeper.reclass(request, standingOf(request.callback, readSentBody(request.callback), why))
      },
      slow: names.slow,
    })
    try {
      return await verifying
    } finally {
      if (left.count > 0) await keeper.overwritten()
    }
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
        return reverify(pageAtStart(), AGAIN)
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
        return reverify(pagesOf(), { ...run, signal: either })
      })
      if (result.lookupError !== undefined) report(asOurs(result.lookupError, 'internal'))
      const { examined, admitted } = result
      return { examined, admitted, stillUnproved: examined - admitted }
    },
    async list(given) {
      const { after, limit, reveal } = checkOptions(listSchema, given, 'quarantine.list')
      await open()
      expire()
      const found = await keeper.page({ after: Number(after ?? 0), limit: limit + 1, maxBytes: A_PAGE.maxBytes })
      const page = found.slice(0, limit)
      const items = page.map((request) => show(request, { reveal, secrets: secrets() }))
      const last = page.at(-1)?.sequence
      if (last === undefined) return { items }
      // A page of large requests may have fewer than the limit.
      const hasMore = found.length > limit || (await keeper.page({ after: last, limit: 1, maxBytes: 1 })).length > 0
      return hasMore ? { items, next: String(last) } : { items }
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
      keep(callback: ArrivedCallback, body: ReadBody, refused: Refusal): void {
        const kept = limits === undefined ? undefined : keepable(callback)
        if (kept === undefined) return
        const standing = standingOf(kept, body, refused)
        const outcome = keeper.keep(kept, standing)
        sayFull()
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
      const count = await turns(async () => {
        let found = 0
        for await (const page of pagesOf()) {
          const meant = page.filter(isMeant)
          found += meant.length
          if (!dryRun) await keeper.remove(meant)
        }
        return found
      })
      if (count > 0 && !dryRun) await keeper.overwritten()
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
      const lost = await keeper.close(CLOSE_MS)
      if (lost === 0) return
      logger.warn(
        { code: 'quarantine_lost' },
        `Refused requests that look like callbacks are lost: ${lost}. Set \`quarantine.folder\`, or check its disk.`,
      )
    },
  }
}
