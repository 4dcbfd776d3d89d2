/**
 * The store in memory: for tests, for one process, and for those who can lose what a crash loses. Bounded: only settled
 * messages are evicted, and with an evicted one goes the knowledge that its events were seen before.
 */
import { z } from 'zod'
import { checkOptions, numberAboveZero } from '../../check-options.ts'
import { mergeLatest } from '../../inbox/latest.ts'
import { EXPECTED, isLate } from '../../inbox/order.ts'
import type {
  Admission,
  Claim,
  ClaimRequest,
  ClaimResult,
  NewEvent,
  OpenStore,
  Settlement,
  Store,
  StoredDeadLetter,
} from '../../inbox/store.ts'
import { daysAboveZero } from '../bounds.ts'
import { pageOf } from '../pages.ts'
import { popDue, pushDue, type Due } from './due-heap.ts'
import { createExpecting, knownOf } from './expecting.ts'
import { forgetEvents, keptEvents } from './forgetting.ts'
import { createKnownMessages } from './known.ts'
import { listEvents } from './listing.ts'
import { hasEvent, unpacked, type Message, type Pending } from './message.ts'

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
  /** Messages of which `receiver.expect` was told. Default 1,000,000. */
  readonly maxExpected?: number | undefined
}

const DAY_MS = 86_400_000
const FORGOTTEN_A_STEP = 1_000

const boundsSchema = z.strictObject({
  maxEvents: numberAboveZero(Infinity).default(100_000),
  maxBytes: numberAboveZero(Infinity, 'bytes').default(256 * 1024 * 1024),
  maxDeadLetters: numberAboveZero(Infinity).default(1_000),
  dedupeDays: daysAboveZero.default(30),
  maxExpected: numberAboveZero(Infinity).default(1_000_000),
})

interface Kept {
  readonly message: Message
  readonly pending: Pending
}

/**
 * A store that lives as long as the process: a 204 promises only that. See `MemoryStoreOptions` for its bounds; when it is
 * full of unsettled events, callbacks are answered 503 and reported. Throws an `OptionsError` for a bound that
 * does not exist or is no positive number.
 */
export function memoryStore(options: MemoryStoreOptions = {}): Store {
  const bounds = checkOptions(boundsSchema, options, 'memoryStore')
  return {
    capabilities: {
      name: 'memory',
      durable: false,
      shared: false,
      admitsAndClaims: true,
      listsEvents: true,
      forgets: true,
      expects: true,
    },
    open: () => openMemoryStore(bounds),
  }
}

function openMemoryStore({
  maxEvents,
  maxBytes,
  maxDeadLetters,
  dedupeDays,
  maxExpected,
}: z.output<typeof boundsSchema>): OpenStore {
  /** The latest time that a caller named: the store asks no clock of its own. */
  let latestNowMs = 0
  let tokens = 0
  let unsettled = 0
  let unsettledBytes = 0
  let deaths = 0
  let sequence = 0
  const known = createKnownMessages({ maxEvents, lifeMs: dedupeDays * DAY_MS })
  /** In the order in which they were taken, which is the order in which they run out. */
  const leased: Message[] = []
  /** An entry is void where its message has a later one, or is leased. */
  const due: (Due & { readonly message: Message })[] = []
  const dead = new Map<string, StoredDeadLetter & { readonly pending: Pending; readonly sequence: number }>()

  const expecting = createExpecting({
    maxExpected,
    lifeMs: dedupeDays * DAY_MS,
    peek: known.peek,
    goOn(message, nowMs) {
      for (const other of message.pending)
        if (other.event.awaits === EXPECTED && other.attempts === 0) other.dueMs = Math.min(other.dueMs, nowMs)
      if (message.lease === undefined) schedule(message)
    },
    admit(event, nowMs) {
      const kept: Kept[] = []
      const admission = admitOne(event, nowMs, kept)
      for (const { message } of kept) if (message.lease === undefined) schedule(message)
      // One that is known was made before.
      return admission !== 'full'
    },
  })
  const { byKey: expected } = expecting

  /** Ends its lease, if there is one, and enters it in the heap for its first event, or lets it rest where it has none. */
  function schedule(message: Message): void {
    const [first] = message.pending
    if (message.lease !== undefined) leased.splice(leased.indexOf(message), 1)
    message.lease = undefined
    message.sequence = sequence += 1
    if (first === undefined) known.settle(message, latestNowMs)
    else pushDue(due, { dueMs: first.dueMs, sequence, message })
  }

  /** Where it is kept, it goes into `kept`, and its message is still to be scheduled. */
  function admitOne(event: NewEvent, nowMs: number, kept: Kept[]): Admission {
    const { id, messageKey, order, awaits, raw } = event
    const found = known.find(messageKey, latestNowMs)
    if (found !== undefined && hasEvent(found, id)) return 'duplicate'
    if (unsettled >= maxEvents || unsettledBytes + raw.length > maxBytes) return 'full'
    const message = known.activate(messageKey, found, latestNowMs)
    if (expected.size > 0 && expected.has(messageKey)) message.steps |= EXPECTED
    const late = isLate(event, message)
    const waits = !late && awaits !== 0 && (message.steps & awaits) === 0
    const dueMs = waits ? event.gapUntilMs : nowMs
    if (order !== '') message.latest = mergeLatest(message.latest, event)
    const pending = { event, late, replay: false, attempts: 0, dueMs, token: 0 }
    enqueue(message, pending, nowMs)
    kept.push({ message, pending })
    return late ? 'late' : 'new'
  }

  /** Puts an event in its place; what waited for just this step need not wait longer. */
  function enqueue(message: Message, pending: Pending, nowMs: number): void {
    const { step, order, raw } = pending.event
    unsettled += 1
    unsettledBytes += raw.length
    message.steps |= step
    for (const other of message.pending)
      if (step !== 0 && other.event.awaits === step && other.attempts === 0) other.dueMs = Math.min(other.dueMs, nowMs)
    const at = message.pending.findIndex((other) => other.event.order > order)
    message.pending =
      message.pending.length === 0
        ? [pending]
        : message.pending.toSpliced(at === -1 ? message.pending.length : at, 0, pending)
  }

  /** Hands its first event over: what is older and comes from now on is late. */
  function lease(message: Message, first: Pending, untilMs: number): Claim {
    const { event, late, replay } = first
    const { id, messageKey, order, final, record, raw } = event
    const attempt = (first.attempts += 1)
    const token = (first.token = tokens += 1)
    if (order > message.handed) message.handed = order
    if (!final && order > message.handedOpen) message.handedOpen = order
    message.lease = { token, untilMs }
    leased.push(message)
    const claimed = { id, messageKey, token, attempt, late, replay, record, raw }
    const sent = expected.size === 0 ? undefined : expected.get(messageKey)
    return sent === undefined ? claimed : { ...claimed, expected: knownOf(sent) }
  }

  function settled({ event }: Pending): void {
    unsettled -= 1
    unsettledBytes -= event.raw.length
  }

  function claim({ limit, nowMs, leaseUntilMs, exclude }: ClaimRequest): ClaimResult {
    latestNowMs = Math.max(latestNowMs, nowMs)
    // Gives back what a holder did not settle in time.
    for (let [first] = leased; first?.lease !== undefined && first.lease.untilMs <= nowMs; [first] = leased)
      schedule(first)
    const claims: Claim[] = []
    const excluded: Message[] = []
    let nextDueMs: number | undefined
    for (let [next] = due; next !== undefined; [next] = due) {
      const { message, sequence: entered, dueMs } = next
      const isCurrent = message.sequence === entered && message.lease === undefined
      if (isCurrent && !exclude.has(message.key)) {
        nextDueMs = dueMs
        if (dueMs > nowMs || claims.length >= limit) break
        const [first] = message.pending
        if (first !== undefined) claims.push(lease(message, first, leaseUntilMs))
      } else if (isCurrent) {
        excluded.push(message)
      }
      popDue(due)
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
    const message = known.find(settlement.messageKey, latestNowMs)
    if (typeof message !== 'object') return false
    const pending = message.pending.find(({ event }) => event.id === settlement.id)
    // A lease that ran out does no harm as long as nobody else took the event.
    if (pending?.token !== settlement.token) return false
    if (settlement.outcome === 'retry') {
      pending.dueMs = settlement.dueMs
    } else if (settlement.outcome === 'unbegun') {
      pending.dueMs = settlement.dueMs
      pending.attempts -= 1
      pending.token = 0
      if (pending.event.awaits !== 0) pending.event = { ...pending.event, awaits: 0 }
    } else {
      const { attempts, event } = pending
      const { id, raw, record } = event
      message.pending = message.pending.filter((other) => other !== pending)
      message.settledIds = [...message.settledIds, id]
      settled(pending)
      if (settlement.outcome === 'dead') {
        const { error } = settlement
        dead.set(id, { id, attempts, error, diedAtMs: nowMs, record, raw, pending, sequence: (deaths += 1) })
        const [oldest] = dead.keys()
        if (oldest !== undefined && dead.size > maxDeadLetters) dead.delete(oldest)
      }
    }
    // Another event of the message may be in somebody's hands by now, with a lease of its own.
    if (message.lease === undefined || message.lease.token === settlement.token) schedule(message)
    return true
  }

  return {
    admit(events, nowMs) {
      latestNowMs = Math.max(latestNowMs, nowMs)
      const kept: Kept[] = []
      const admissions = events.map((event) => admitOne(event, nowMs, kept))
      for (const { message } of kept) if (message.lease === undefined) schedule(message)
      return admissions
    },
    claim,
    admitAndClaim(events, { limit, nowMs, leaseUntilMs, exclude }) {
      latestNowMs = Math.max(latestNowMs, nowMs)
      const kept: Kept[] = []
      const admissions = events.map((event) => admitOne(event, nowMs, kept))
      const claims: Claim[] = []
      for (const { message, pending } of kept) {
        if (message.lease !== undefined) continue
        // What else is first of it goes by its own schedule.
        const isFirst = message.pending[0] === pending
        if (isFirst && pending.dueMs <= nowMs && claims.length < limit && !exclude.has(message.key))
          claims.push(lease(message, pending, leaseUntilMs))
        else schedule(message)
      }
      return { admissions, claims }
    },
    settle(settlements, nowMs) {
      latestNowMs = Math.max(latestNowMs, nowMs)
      return settlements.map((settlement) => settleOne(settlement, nowMs))
    },
    latest(messageKey) {
      const found = known.find(messageKey, latestNowMs)
      const latest = found === undefined ? undefined : unpacked(messageKey, found).latest
      if (latest === undefined) return undefined
      const sent = expected.get(messageKey)
      const finals = latest.finals.map((final) => final.record)
      return { record: latest.record, finals, ...(sent && { expected: knownOf(sent) }) }
    },
    deadLetters({ after, limit }) {
      const from = after === undefined ? 0 : Number(after)
      const following = [...dead.values()].filter((letter) => letter.sequence > from)
      return pageOf(
        following,
        limit,
        (letter) => {
          const sent = expected.get(letter.pending.event.messageKey)
          return sent === undefined ? letter : { ...letter, expected: knownOf(sent) }
        },
        (last) => String(last.sequence),
      )
    },
    events: (page) => listEvents({ known: known.all(), dead }, page),
    kept: (page) => keptEvents({ known, dead, expecting }, page),
    forget(request, nowMs) {
      latestNowMs = Math.max(latestNowMs, nowMs)
      return forgetEvents({ known, dead, schedule, settled, expecting }, request)
    },
    resolve(id, resolution, nowMs) {
      const letter = dead.get(id)
      if (letter === undefined) return false
      dead.delete(id)
      if (resolution === 'discard') return true
      const { event } = letter.pending
      const found = known.find(event.messageKey, latestNowMs)
      const message = known.activate(event.messageKey, found, latestNowMs)
      message.settledIds = message.settledIds.filter((settled) => settled !== id)
      const late = resolution !== 'force' && isLate(event, message)
      enqueue(message, { event, late, replay: true, attempts: 0, dueMs: nowMs, token: 0 }, nowMs)
      if (message.lease === undefined) schedule(message)
      return true
    },
    expect(messages, nowMs) {
      latestNowMs = Math.max(latestNowMs, nowMs)
      return expecting.expect(messages, nowMs)
    },
    overdue: expecting.overdue,
    admitOverdue(events, nowMs) {
      latestNowMs = Math.max(latestNowMs, nowMs)
      return expecting.admitOverdue(events, nowMs)
    },
    awaitNoMore: expecting.awaitNoMore,
    expectations: expecting.expectations,
    sentTo: expecting.sentTo,
    prune(nowMs) {
      latestNowMs = Math.max(latestNowMs, nowMs)
      return known.prune(latestNowMs, FORGOTTEN_A_STEP) + expecting.prune(latestNowMs, FORGOTTEN_A_STEP)
    },
    counts: () => ({ unsettled, deadLetters: dead.size }),
    close() {},
  }
}
