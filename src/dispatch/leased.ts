/** What is in our hands: events that were leased here and are not settled, whether they run, hang or wait for a slot. */
import type { Claim } from '../inbox/store.ts'
import type { Opened } from './life.ts'

/** An event in our hands. Nothing else of its message is, even where a lease has run out. */
export interface Work {
  readonly claim: Claim
  readonly from: Opened
  readonly leaseUntilMs: number
  readonly controller: AbortController
  /** It has its slot, and waits for none any more. */
  isBegun: boolean
  /** A handler of it has run past its time and has not settled. */
  isHung: boolean
  /** Something of its message was admitted here since, and has to wait for it. */
  isFollowed: boolean
  /** Its lease ran out while its handlers ran. */
  isLost: boolean
  /** Whom to tell of that; undefined as long as none of its handlers runs. */
  onLost: (() => void) | undefined
}

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
  begin(claim: Claim, from: Opened, leaseUntilMs: number): Work
  /** Nobody waits for it any more, but its message is not free. */
  hang(work: Work): void
  /** Of it nothing is left to do here. */
  end(work: Work): void
}

const NO_MESSAGES: ReadonlySet<string> = new Set()

/** A power of two. */
const BUCKETS = 256

/**
 * By message, in lists. No Map: where members come and go all the time, V8 makes a table after the other, and once one is
 * old, it keeps the next, and so every event that went through, until the whole heap is collected.
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
    begin(claim, from, leaseUntilMs) {
      const controller = new AbortController()
      const work: Work = {
        claim,
        from,
        leaseUntilMs,
        controller,
        isBegun: false,
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
