/** What is in our hands: events that were leased here and are not settled, whether they run, hang or wait for a slot. */
import type { Claim } from '../inbox/store.ts'
import type { Opened } from './life.ts'

/** An event in our hands. */
export interface Work {
  readonly claim: Claim
  readonly from: Opened
  readonly leaseUntilMs: number
  readonly controller: AbortController
  /** A handler of it has run past its time and has not settled. */
  isHung: boolean
}

export interface Leased {
  /** How many there are, the hung ones apart. */
  readonly atWork: number
  /** How many there are, the hung ones included. */
  readonly all: number
  /** Their messages: nothing else of them runs here meanwhile, even where a lease has run out. */
  readonly messages: ReadonlySet<string>
  has(id: string): boolean
  begin(claim: Claim, from: Opened, leaseUntilMs: number): Work
  /** Nobody waits for it any more, but its message is not free. */
  hang(work: Work): void
  /** Of it nothing is left to do here. */
  end(work: Work): void
  /** Something of this message was admitted here; true where the message is in our hands, so that it has to wait. */
  follow(messageKey: string): boolean
  /** Whether something has waited for this message since it is in our hands. */
  isFollowed(messageKey: string): boolean
  abort(reason: Error): void
}

export function createLeased(): Leased {
  let atWork = 0
  const works = new Map<string, Work>()
  const messages = new Set<string>()
  const followed = new Set<string>()

  return {
    get atWork() {
      return atWork
    },
    get all() {
      return works.size
    },
    messages,
    has: (id) => works.has(id),
    begin(claim, from, leaseUntilMs) {
      const work: Work = { claim, from, leaseUntilMs, controller: new AbortController(), isHung: false }
      atWork += 1
      works.set(claim.id, work)
      messages.add(claim.messageKey)
      return work
    },
    hang(work) {
      work.isHung = true
      atWork -= 1
    },
    end({ claim: { id, messageKey }, isHung }) {
      if (!isHung) atWork -= 1
      works.delete(id)
      messages.delete(messageKey)
      followed.delete(messageKey)
    },
    follow(messageKey) {
      const isBusy = messages.has(messageKey)
      if (isBusy) followed.add(messageKey)
      return isBusy
    },
    isFollowed: (messageKey) => followed.has(messageKey),
    abort(reason) {
      for (const { controller } of works.values()) controller.abort(reason)
    },
  }
}
