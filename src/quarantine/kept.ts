/**
 * Where refused requests are kept: in memory or, with a local file, in its table. Requests pass through memory on the way to the
 * file, so that no response waits for the disk, and stay there while the file cannot be written.
 */
import type { LocalFile } from '../local-file/local-file.ts'
import type { PageOfRequests, RequestTotals } from '../local-file/request-table.ts'
import { MessagingWebhooksError } from '../public/errors.ts'
import { withDeadline, type Clock } from '../runtime/clock.ts'
import { inTurn } from '../runtime/concurrency.ts'
import { memoryKeeper } from './keeper.ts'
import { isLikelyReal, QUARANTINE_CLASSES, type KeptRequest, type QuarantineClass, type Standing } from './request.ts'
import { packRequest, packRequests, storedPage } from './stored.ts'

interface KeptOptions {
  readonly clock: Clock
  /** Undefined to keep all in memory. */
  readonly file: LocalFile | undefined
  /** The budget. The default depends on the place. */
  readonly maxBytes: number | undefined
  readonly maxAgeMs: number
  readonly report: (error: MessagingWebhooksError) => void
  /** Called when the totals of the file have changed. */
  readonly onChange: () => void
}

type Page = Omit<PageOfRequests, 'classes'> & { readonly classes?: readonly QuarantineClass[] | undefined }

const MIB = 1024 * 1024
const MEMORY_BYTES = 16 * MIB
/** A day of callbacks at 5 a second, in the half that is not for `provedButStale`: about 1 KiB each, measured. */
const FILE_BYTES = 1024 * MIB
const BATCH = { limit: 256, maxBytes: MIB }
/** A flood of requests must not wear out the disk or slow down the store. */
const BYTES_A_SECOND = 8 * MIB
const SECOND_MS = 1_000
const LONGEST_PAUSE_MS = 60_000
const NOTHING: RequestTotals = { counts: [], unchecked: 0, bytes: 0, oldestMs: undefined }

export function createKept({ clock, file, report, onChange, maxAgeMs, ...options }: KeptOptions) {
  const { maxBytes = file === undefined ? MEMORY_BYTES : FILE_BYTES } = options
  const memory = memoryKeeper({ maxBytes: file === undefined ? maxBytes : Math.min(maxBytes, MEMORY_BYTES), maxAgeMs })
  /** Changes of the file, in order. */
  const turns = inTurn()
  let totals = NOTHING
  let dropped = 0
  let droppedCallbacks = 0
  let isWriting = false
  let isExpiring = false
  let isClosing = false
  let cancelPause: (() => void) | undefined
  let pauseMs = SECOND_MS
  /** Bytes that may be written before the next pause of a second. */
  let leftBytes = BYTES_A_SECOND
  let isReported = false
  let opened: Promise<void> | undefined

  function see(next: RequestTotals): void {
    totals = next
    onChange()
  }
  file?.onChange(({ requests }) => see(requests))

  function failed(cause: unknown): void {
    if (!isReported) report(new MessagingWebhooksError('quarantine_unwritten', undefined, { cause }))
    isReported = true
  }

  /** Runs a change of the file, if there is one. Never rejects. */
  async function change(work: (target: LocalFile) => Promise<RequestTotals>): Promise<void> {
    if (file === undefined) return
    await turns(async () => {
      if (await file.exists()) see(await work(file))
    }).catch(failed)
  }

  /** Writes the requests that are in memory now, but not those that arrive meanwhile. */
  async function writeAll(target: LocalFile): Promise<void> {
    for (let left = memory.size; left > 0;) {
      const batch = memory.first(BATCH)
      if (batch.length === 0) return
      left -= batch.length
      const { packed, bytes } = packRequests(batch)
      const { evicted, state } = await target.callLater('keepRequests', packed, bytes, maxBytes)
      for (const request of batch) memory.remove(request)
      dropped += evicted.all
      droppedCallbacks += evicted.likely
      leftBytes -= bytes.length
      isReported = false
      pauseMs = SECOND_MS
      see(state)
      if (leftBytes <= 0 && isWriting) return
    }
  }

  function wake(): void {
    if (file === undefined || isWriting || cancelPause !== undefined || isClosing || memory.size === 0) return
    isWriting = true
    void turns(() => writeAll(file)).then(
      () => {
        isWriting = false
        if (leftBytes > 0) wake()
        else wakeIn(SECOND_MS)
      },
      (error: unknown) => {
        isWriting = false
        failed(error)
        wakeIn(pauseMs)
        pauseMs = Math.min(2 * pauseMs, LONGEST_PAUSE_MS)
      },
    )
  }

  function wakeIn(ms: number): void {
    if (isClosing) return
    cancelPause = clock.setTimer(() => {
      cancelPause = undefined
      leftBytes = BYTES_A_SECOND
      wake()
    }, ms)
  }

  async function flush(target: LocalFile): Promise<void> {
    await turns(() => writeAll(target)).catch(failed)
  }

  function inMemory({ after, limit, uncheckedOf, classes }: Page): readonly KeptRequest[] {
    const isMeant = (request: KeptRequest): boolean =>
      request.sequence > after &&
      (classes?.includes(request.class) ?? true) &&
      (uncheckedOf === undefined || (request.unchecked && uncheckedOf.includes(request.project)))
    return memory.all().filter(isMeant).slice(0, limit)
  }

  async function inFile(target: LocalFile, { classes, ...page }: Page): Promise<readonly KeptRequest[]> {
    if (!(await target.exists())) return []
    const numbers = classes?.map((name) => QUARANTINE_CLASSES.indexOf(name))
    const found: KeptRequest[] = []
    // A page without a readable row is not the last one.
    for (let { after } = page; found.length === 0;) {
      const { requests, unreadable, last } = await storedPage(target, { ...page, after, classes: numbers })
      if (unreadable > 0) report(new MessagingWebhooksError('quarantine_damaged', `Rows: ${unreadable}.`))
      found.push(...requests)
      if (last === undefined) break
      after = last
    }
    return found
  }

  const kept = {
    /** Counts what earlier processes have kept. Never rejects. */
    open(): Promise<void> {
      opened ??= change((target) => target.call('requestTotals'))
      return opened
    },
    /** Never waits. `known` if the same body waits in memory in this class or a better one. */
    keep(callback: KeptRequest['callback'], standing: Standing): 'kept' | 'known' | 'dropped' {
      const outcome = memory.keep(callback, standing)
      wake()
      return outcome
    },
    /** A page in order of arrival, at least one request if there is one. Includes all that were kept before the call. */
    async page(page: Page): Promise<readonly KeptRequest[]> {
      if (file === undefined) return inMemory(page)
      if (memory.size > 0) await flush(file)
      try {
        const stored = await turns(() => inFile(file, page))
        if (memory.size === 0 || stored.length >= page.limit) return stored
        const all = [...stored, ...inMemory(page)]
        return all.sort((a, b) => a.sequence - b.sequence).slice(0, page.limit)
      } catch (error) {
        failed(error)
        return inMemory(page)
      }
    },
    /** The projects that requests with failed look-ups name, and the number of their requests. */
    async uncheckedNames(limit: number): Promise<ReadonlyMap<string | undefined, number>> {
      const names = new Map<string | undefined, number>()
      const count = (name: string | undefined, by: number): void => void names.set(name, (names.get(name) ?? 0) + by)
      for (const { project } of memory.unchecked()) count(project, 1)
      if (file !== undefined && totals.unchecked > 0)
        for (const [name, by] of await file.call('uncheckedNames', limit).catch(() => [])) count(name, by)
      return names
    },
    async remove(requests: readonly KeptRequest[]): Promise<void> {
      const stored = requests.filter((request) => !memory.remove(request))
      if (stored.length > 0)
        await change((target) =>
          target.call(
            'removeRequests',
            stored.map(({ sequence }) => sequence),
          ),
        )
    },
    /** Changes the standing of a request. */
    async reclass(request: KeptRequest, standing: Standing): Promise<void> {
      if (memory.reclass(request, standing)) return
      const { rawLength: _, ...packed } = packRequest({ ...request, ...standing })
      await change((target) => target.call('reclassRequest', request.sequence, packed, maxBytes))
    },
    clear(): void {
      memory.clear()
      totals = NOTHING
      void change((target) => target.call('clearRequests'))
      void kept.overwritten()
    },
    /** Removes expired requests. Returns when the next one expires, as far as it is known. */
    expire(nowMs: number): number | undefined {
      const nextMs = memory.expire(nowMs)
      const { oldestMs } = totals
      if (oldestMs === undefined) return nextMs
      if (nowMs - oldestMs < maxAgeMs) return Math.min(nextMs ?? Infinity, oldestMs + maxAgeMs)
      if (!isExpiring) {
        isExpiring = true
        void change(async (target) => {
          isExpiring = false
          return target.call('expireRequests', nowMs - maxAgeMs)
        })
        void kept.overwritten()
      }
      return nextMs
    },
    /** Resolves when nothing of removed requests is left on the disk. */
    overwritten: () =>
      change(async (target) => {
        await target.call('overwriteRequests')
        return target.call('requestTotals')
      }),
    count(of: QuarantineClass | 'unchecked'): number {
      const stored = of === 'unchecked' ? totals.unchecked : totals.counts[QUARANTINE_CLASSES.indexOf(of)]
      return memory.count(of) + (stored ?? 0)
    },
    /** Kept requests of a class other than `rest`. */
    get likelyReal(): number {
      return kept.size - kept.count('rest')
    },
    get size(): number {
      return QUARANTINE_CLASSES.reduce((sum, name) => sum + kept.count(name), 0)
    },
    get bytes(): number {
      return memory.bytes + totals.bytes
    },
    /** Requests that were not kept, or were evicted, because the capacity was exhausted. */
    get dropped(): number {
      return memory.dropped + dropped
    },
    /** Dropped requests of a class other than `rest`. */
    get droppedCallbacks(): number {
      return memory.droppedCallbacks + droppedCallbacks
    },
    /** Writes what is in memory, within the deadline. Returns how many requests that may be callbacks are lost. */
    async close(deadlineMs: number): Promise<number> {
      cancelPause?.()
      cancelPause = undefined
      isClosing = true
      if (file !== undefined && memory.size > 0) await withDeadline(clock, deadlineMs, flush(file), () => {})
      return memory.all().filter(isLikelyReal).length
    },
  }
  return kept
}
