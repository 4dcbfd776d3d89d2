/** What this process has in hand, and how much more it may take: events under lease, slots for their handlers, and some ahead. */
import type { Clock } from '../clock.ts'
import type { Claim, ClaimRequest, NewEvent, OpenStore, PAYLOAD } from '../inbox/store.ts'
import type { Opened } from './settle.ts'

/** An event in our hands. Nothing else of its message is, even where a lease has run out. */
export interface Work {
  readonly claim: Claim
  readonly from: Opened
  readonly leaseUntilMs: number
  readonly controller: AbortController
  /** What its bytes are as JSON, where that is known; the attempt makes it the event's own. */
  readonly payload: NewEvent[typeof PAYLOAD]
  /** What the store adds to the handlers' context. */
  extras: object | undefined
  /** It has its slot, and waits for none any more. */
  isBegun: boolean
  begunAtMs: number
  hasSlot: boolean
  /** A handler of it has run past its time and has not settled. */
  isHung: boolean
  /** Something of its message was admitted here since, and has to wait for it. */
  isFollowed: boolean
  /** Its lease ran out while its handlers ran. */
  isLost: boolean
  /** Whom to tell of that; undefined as long as none of its handlers runs. */
  onLost: ((work: Work) => void) | undefined
}

/**
 * Runs what was leased until then. It enters its slot at once where there is one; or `soon`, what came with its own
 * admission, which is answered first: `events` are those that were admitted.
 */
export type Run = (
  how: 'enter' | 'soon',
  claims: readonly Claim[],
  from: Opened,
  leaseUntilMs: number,
  events?: readonly NewEvent[],
) => void

export interface Leased {
  /** How many there are, the hung ones apart. */
  readonly atWork: number
  /** How many there are, the hung ones included. */
  readonly all: number
  /** All of them, as they are now. */
  works(): readonly Work[]
  of(messageKey: string): Work | undefined
  /** Of what is in our hands all messages, or those of these events: nothing else of them runs here. */
  messages(among?: readonly { readonly messageKey: string }[]): ReadonlySet<string>
  begin(claim: Claim, from: Opened, leaseUntilMs: number, payload: NewEvent[typeof PAYLOAD]): Work
  /** Nobody waits for it any more, but its message is not free. */
  hang(work: Work): void
  /** Of it nothing is left to do here. */
  end(work: Work): void
}

const NO_MESSAGES: ReadonlySet<string> = new Set()

/** A power of two. */
const BUCKETS = 256

/**
 * What is in our hands, whether it runs, hangs or waits for a slot: by message, in lists. No Map: where members come and
 * go all the time, V8 makes a table after the other, and once one is old, it keeps the next, and so every event that went
 * through, until the whole heap is collected.
 */
export function createLeased(): Leased {
  const buckets: Work[][] = []
  let atWork = 0
  let all = 0

  function bucketOf(messageKey: string): Work[] {
    const last = messageKey.length - 1
    // Keys are digests in hexadecimal, any part of which is as good as another.
    const place = (messageKey.charCodeAt(last) * 31 + messageKey.charCodeAt(last - 1)) & (BUCKETS - 1)
    return (buckets[place] ??= [])
  }

  function of(messageKey: string): Work | undefined {
    return bucketOf(messageKey).find(({ claim }) => claim.messageKey === messageKey)
  }

  return {
    get atWork() {
      return atWork
    },
    get all() {
      return all
    },
    works: () => buckets.flat(),
    of,
    messages(among) {
      if (all === 0) return NO_MESSAGES
      if (among === undefined) return new Set(buckets.flat().map(({ claim }) => claim.messageKey))
      const inHand = among.filter(({ messageKey }) => of(messageKey) !== undefined)
      return inHand.length === 0 ? NO_MESSAGES : new Set(inHand.map(({ messageKey }) => messageKey))
    },
    begin(claim, from, leaseUntilMs, payload) {
      const controller = new AbortController()
      const work: Work = {
        claim,
        from,
        leaseUntilMs,
        controller,
        payload,
        extras: undefined,
        isBegun: false,
        begunAtMs: 0,
        hasSlot: false,
        isHung: false,
        isFollowed: false,
        isLost: false,
        onLost: undefined,
      }
      atWork += 1
      all += 1
      bucketOf(claim.messageKey).push(work)
      return work
    },
    hang(work) {
      if (work.isHung) return
      work.isHung = true
      atWork -= 1
    },
    end(work) {
      const bucket = bucketOf(work.claim.messageKey)
      const place = bucket.indexOf(work)
      if (place === -1) return
      bucket.splice(place, 1)
      all -= 1
      if (!work.isHung) atWork -= 1
    },
  }
}

/** Whoever has a slot, or will have one. */
interface Holder {
  hasSlot: boolean
}

export interface Semaphore {
  /** Slots that nobody uses or waits for; below 0 where more wait than there are. */
  readonly free: number
  take(holder: Holder): void
  /** Gives its slot back, where it has one. */
  leave(holder: Holder): void
  /** Calls `begin`, which takes a slot, at once where there is one, else when there is. */
  enter(begin: () => void): void
  /** The same, but not before the I/O under way. */
  soon(begin: () => void): void
  /** Whoever still waits gets none. */
  forget(): void
}

/** Keeps to `concurrency`: who runs has a slot, and who must wait for one gets the next that is free, in turn. */
export function createSemaphore(concurrency: number, clock: Clock): Semaphore {
  let used = 0
  let waiting: (() => void)[] = []
  let asked = false

  /** Who gives a slot back at once gives it to the next one here. */
  function beginWaiting(): void {
    try {
      while (used < concurrency) {
        const begin = waiting.shift()
        if (begin === undefined) break
        begin()
      }
    } finally {
      asked = false
    }
  }

  function ask(): void {
    if (asked || waiting.length === 0) return
    asked = true
    clock.soon(beginWaiting)
  }

  function soon(begin: () => void): void {
    waiting.push(begin)
    ask()
  }

  return {
    get free() {
      return concurrency - used - waiting.length
    },
    take(holder) {
      holder.hasSlot = true
      used += 1
    },
    leave(holder) {
      if (!holder.hasSlot) return
      holder.hasSlot = false
      used -= 1
      ask()
    },
    enter(begin) {
      if (waiting.length === 0 && used < concurrency) begin()
      else soon(begin)
    },
    soon,
    forget() {
      waiting = []
    },
  }
}

/** What is leased ahead should wait for its slot no longer than this. */
const AHEAD_MS = 50
/** A slower attempt counts at once, a quicker one by this share. */
const SHARE = 1 / 8

interface Pace {
  /** The handlers of an event took so long. */
  took(ms: number): void
  /** How many events may wait for each slot: none as long as nothing is known. */
  readonly ahead: number
}

/** How long handlers take lately: whether an event that is leased before there is a slot for it will have one in a moment. */
function createPace(mostAhead: number): Pace {
  let attemptMs = Infinity
  return {
    took(givenMs) {
      // A clock that is kept right may be set back meanwhile; less than no time would leave no room for ever.
      const ms = Math.max(givenMs, 0)
      attemptMs = ms >= attemptMs || attemptMs === Infinity ? ms : attemptMs + (ms - attemptMs) * SHARE
    },
    get ahead() {
      return Math.min(mostAhead, Math.floor(AHEAD_MS / attemptMs))
    },
  }
}

/** Events in our hands for each slot: while the store settles what has run, others run; where it is slow, no more are taken. */
const MOST_A_SLOT = 4

interface CapacityOptions {
  readonly clock: Clock
  readonly concurrency: number
  readonly semaphore: Semaphore
  readonly leased: Leased
  /** When a lease ends that begins then. */
  readonly leaseUntilMs: (nowMs: number) => number
}

export interface Capacity {
  /** A request for at most so many events as there is room for; undefined where there is none. `exclude`: of these messages none. */
  ask(store: OpenStore<object>, most: number, exclude: ClaimRequest['exclude']): ClaimRequest | undefined
  /** The request is under way: there is room for what it may bring. */
  hold(request: ClaimRequest): void
  /** It has brought what it brings, or will not in time. False where its room had been given back before. */
  giveBack(request: ClaimRequest): boolean
  /** Requests are under way. */
  readonly isHeld: boolean
  /** The handlers of an event took so long: so long others wait for its slot. */
  took(ms: number): void
}

/** How much more may be leased here: an event for each free slot, and where handlers are quick, some that wait for one. */
export function createCapacity({ clock, concurrency, semaphore, leased, leaseUntilMs }: CapacityOptions): Capacity {
  const pace = createPace(MOST_A_SLOT - 1)
  const underWay: ClaimRequest[] = []

  function free({ contextFor }: OpenStore<object>): number {
    let asked = 0
    for (const { limit } of underWay) asked += limit
    // What the store gives to handlers may be in use from the claim on.
    const ahead = contextFor === undefined ? pace.ahead * concurrency : 0
    return Math.min(semaphore.free + ahead, MOST_A_SLOT * concurrency - leased.atWork) - asked
  }

  return {
    ask(store, most, exclude) {
      const limit = Math.min(most, free(store))
      if (limit <= 0) return undefined
      const nowMs = clock.now()
      return { limit, nowMs, leaseUntilMs: leaseUntilMs(nowMs), exclude }
    },
    hold: (request) => void underWay.push(request),
    giveBack(request) {
      const place = underWay.indexOf(request)
      if (place !== -1) underWay.splice(place, 1)
      return place !== -1
    },
    get isHeld() {
      return underWay.length > 0
    },
    took: pace.took,
  }
}
