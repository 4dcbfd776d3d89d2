/**
 * The store in memory: for tests, for one process, and for those who can lose what a crash loses. Bounded: only settled
 * messages are evicted, and with an evicted one goes the knowledge that its events were seen before.
 */
import { z } from 'zod'
import { checkOptions, numberAboveZero } from '../../check-options.ts'
import { mergeLatest } from '../../inbox/latest.ts'
import { isLate } from '../../inbox/order.ts'
import {
  isKept,
  type Admission,
  type Claim,
  type ClaimRequest,
  type ClaimResult,
  type NewEvent,
  type OpenStore,
  type Settlement,
  type Store,
  type StoredDeadLetter,
} from '../../inbox/store.ts'
import { daysAboveZero } from '../bounds.ts'
import { createDueHeap } from './due-heap.ts'
import { createKnownMessages, hasEvent, unpacked } from './known.ts'
import { listEvents } from './listing.ts'
import { enqueue, handOver, settle, unsettle, type Message, type Pending } from './message.ts'

/** The bounds of a memory store. */
export interface MemoryStoreOptions {
  /** Events that may be unsettled, and as many settled ones that are remembered as seen. Default 100,000. */
  readonly maxEvents?: number | undefined
  /** Bytes of bodies that may be unsettled. Default 256 MiB. */
  readonly maxBytes?: number | undefined
  /** Dead letters kept; the oldest goes first. Default 1,000. */
  readonly maxDeadLetters?: number | undefined
  /** How long a settled event is remembered as seen. Default 30 days. */
  readonly dedupeDays?: number | undefined
}

const DAY_MS = 86_400_000
const FORGOTTEN_A_STEP = 1_000

const boundsSchema = z.strictObject({
  maxEvents: numberAboveZero(Infinity).default(100_000),
  maxBytes: numberAboveZero(Infinity, 'bytes').default(256 * 1024 * 1024),
  maxDeadLetters: numberAboveZero(Infinity).default(1_000),
  dedupeDays: daysAboveZero.default(30),
})

/**
 * A store that lives as long as the process: a 204 promises only that. See `MemoryStoreOptions` for its bounds; when it is
 * full of unsettled events, callbacks are answered 503 and reported. Throws an `OptionsError` for a bound that
 * does not exist or is no positive number.
 */
export function memoryStore(options: MemoryStoreOptions = {}): Store {
  const bounds = checkOptions(boundsSchema, options, 'memoryStore')
  return {
    capabilities: { name: 'memory', durable: false, shared: false, admitsAndClaims: true, listsEvents: true },
    open: () => openMemoryStore(bounds),
  }
}

function openMemoryStore({
  maxEvents,
  maxBytes,
  maxDeadLetters,
  dedupeDays,
}: z.output<typeof boundsSchema>): OpenStore {
  /** The latest time that a caller named: the store asks no clock of its own. */
  let latestNowMs = 0
  let tokens = 0
  let unsettled = 0
  let unsettledBytes = 0
  let deaths = 0
  const known = createKnownMessages({ maxEvents, lifeMs: dedupeDays * DAY_MS })
  /** In the order in which they were taken, which is the order in which they run out. No Set: see `createKnownMessages`. */
  const leased: Message[] = []
  const due = createDueHeap<{ readonly message: Message; readonly schedule: number }>()
  const dead = new Map<string, StoredDeadLetter & { readonly pending: Pending; readonly sequence: number }>()

  function seeTime(nowMs: number): void {
    if (nowMs > latestNowMs) latestNowMs = nowMs
  }

  /** Enters the message in the heap for its first event, or lets it rest where it has none. */
  function schedule(message: Message): void {
    message.schedule += 1
    const [first] = message.pending
    if (first !== undefined) {
      due.push(first.dueMs, { message, schedule: message.schedule })
    } else {
      known.settle(message, latestNowMs)
    }
  }

  /** Its message is scheduled at once, or later by whoever gives a list for it. */
  function admitOne(event: NewEvent, nowMs: number, unscheduled?: Message[]): Admission {
    const found = known.find(event.messageKey, latestNowMs)
    if (found !== undefined && hasEvent(found, event.id)) return 'duplicate'
    if (unsettled >= maxEvents || unsettledBytes + event.raw.length > maxBytes) return 'full'
    const message = known.activate(event.messageKey, found, latestNowMs)
    const late = isLate(event, message)
    const waits = !late && event.awaits !== 0 && (message.steps & event.awaits) === 0
    const dueMs = waits ? event.gapUntilMs : nowMs
    if (event.order !== '') message.latest = mergeLatest(message.latest, event)
    enqueue(message, { event, late, replay: false, attempts: 0, dueMs, token: 0 }, nowMs)
    unsettled += 1
    unsettledBytes += event.raw.length
    if (unscheduled !== undefined) unscheduled.push(message)
    else if (message.lease === undefined) schedule(message)
    return late ? 'late' : 'new'
  }

  function claimFirst(message: Message, leaseUntilMs: number): Claim | undefined {
    const [first] = message.pending
    if (first === undefined) return undefined
    first.attempts += 1
    handOver(message, first)
    first.token = tokens += 1
    message.lease = { token: first.token, untilMs: leaseUntilMs }
    leased.push(message)
    const { event, late, replay, attempts, token } = first
    const { id, messageKey, record, raw } = event
    return { id, messageKey, token, attempt: attempts, late, replay, record, raw }
  }

  function release(message: Message): void {
    message.lease = undefined
    leased.splice(leased.indexOf(message), 1)
    schedule(message)
  }

  /** Gives back what a holder did not settle in time. */
  function expireLeases(nowMs: number): void {
    for (let [first] = leased; first !== undefined; [first] = leased) {
      if (first.lease !== undefined && first.lease.untilMs > nowMs) return
      release(first)
    }
  }

  function claim({ limit, nowMs, leaseUntilMs, exclude }: ClaimRequest): ClaimResult {
    seeTime(nowMs)
    expireLeases(nowMs)
    const claims: Claim[] = []
    const excluded: Message[] = []
    let nextDueMs: number | undefined
    for (let next = due.peek(); next !== undefined; next = due.peek()) {
      const { message, schedule: entered } = next.value
      const isCurrent = message.schedule === entered && message.lease === undefined
      if (isCurrent && !exclude.has(message.key)) {
        nextDueMs = next.dueMs
        if (next.dueMs > nowMs || claims.length >= limit) break
        const claimed = claimFirst(message, leaseUntilMs)
        if (claimed !== undefined) claims.push(claimed)
      } else if (isCurrent) {
        excluded.push(message)
      }
      due.pop()
      nextDueMs = undefined
    }
    for (const message of excluded) schedule(message)
    for (const { key, lease } of leased) {
      if (lease === undefined || exclude.has(key)) continue
      nextDueMs = Math.min(nextDueMs ?? lease.untilMs, lease.untilMs)
      break
    }
    return { claims, nextDueMs }
  }

  function settleOne(settlement: Settlement, nowMs: number): boolean {
    const message = leased.find(({ key }) => key === settlement.messageKey) ?? known.findActive(settlement.messageKey)
    const pending = message?.pending.find(({ event }) => event.id === settlement.id)
    // A lease that ran out does no harm as long as nobody else took the event.
    if (message === undefined || pending?.token !== settlement.token) return false
    if (settlement.outcome === 'retry') {
      pending.dueMs = settlement.dueMs
    } else if (settlement.outcome === 'unbegun') {
      pending.dueMs = settlement.dueMs
      pending.attempts -= 1
      pending.token = 0
    } else {
      const { id, raw, record } = pending.event
      settle(message, pending)
      unsettled -= 1
      unsettledBytes -= raw.length
      if (settlement.outcome === 'dead') {
        const { error } = settlement
        const { attempts } = pending
        dead.set(id, { id, attempts, error, diedAtMs: nowMs, record, raw, pending, sequence: (deaths += 1) })
        for (const oldest of dead.keys()) {
          if (dead.size <= maxDeadLetters) break
          dead.delete(oldest)
        }
      }
    }
    // Another event of the message may be in somebody's hands by now, with a lease of its own.
    if (message.lease === undefined) schedule(message)
    else if (message.lease.token === settlement.token) release(message)
    return true
  }

  return {
    admit(events, nowMs) {
      seeTime(nowMs)
      return events.map((event) => admitOne(event, nowMs))
    },
    claim,
    admitAndClaim(events, { limit, nowMs, leaseUntilMs, exclude }) {
      seeTime(nowMs)
      const admittedTo: Message[] = []
      const admissions = events.map((event) => admitOne(event, nowMs, admittedTo))
      const claims: Claim[] = []
      let kept = 0
      for (const [index, event] of events.entries()) {
        const message = isKept(admissions[index]) ? admittedTo[kept++] : undefined
        if (message === undefined || message.lease !== undefined) continue
        const [first] = message.pending
        // What else is first of it goes by its own schedule, or was claimed.
        const mayGo =
          first?.event === event && first.dueMs <= nowMs && claims.length < limit && !exclude.has(message.key)
        const claimed = mayGo ? claimFirst(message, leaseUntilMs) : undefined
        if (claimed === undefined) schedule(message)
        else claims.push(claimed)
      }
      return { admissions, claims }
    },
    settle(settlements, nowMs) {
      seeTime(nowMs)
      return settlements.map((settlement) => settleOne(settlement, nowMs))
    },
    latest(messageKey) {
      const found = known.find(messageKey, latestNowMs)
      const latest = found === undefined ? undefined : unpacked(messageKey, found).latest
      return latest && { record: latest.record, finals: latest.finals.map((final) => final.record) }
    },
    deadLetters({ after, limit }) {
      const from = after === undefined ? 0 : Number(after)
      const following = [...dead.values()].filter((letter) => letter.sequence > from)
      const items = following.slice(0, limit)
      const last = items.at(-1)
      return following.length > limit && last !== undefined ? { items, next: String(last.sequence) } : { items }
    },
    events: (page) => listEvents({ known: known.all(), dead }, page),
    resolve(id, resolution, nowMs) {
      const letter = dead.get(id)
      if (letter === undefined) return false
      dead.delete(id)
      if (resolution === 'discard') return true
      const { event } = letter.pending
      const found = known.find(event.messageKey, latestNowMs)
      const message = known.activate(event.messageKey, found, latestNowMs)
      unsettle(message, id)
      const late = resolution !== 'force' && isLate(event, message)
      enqueue(message, { event, late, replay: true, attempts: 0, dueMs: nowMs, token: 0 }, nowMs)
      unsettled += 1
      unsettledBytes += event.raw.length
      if (message.lease === undefined) schedule(message)
      return true
    },
    prune(nowMs) {
      seeTime(nowMs)
      return known.prune(latestNowMs, FORGOTTEN_A_STEP)
    },
    counts: () => ({ unsettled, deadLetters: dead.size }),
    close() {},
  }
}
