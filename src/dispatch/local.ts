/** What is admitted here and may run here: where there is room, under a lease of its own admission, else by a claim. */
import type { Clock } from '../clock.ts'
import type { Admission, Claim, NewEvent } from '../inbox/store.ts'
import type { LocalDispatch } from '../inbox/write.ts'
import type { Backlog } from './backlog.ts'
import type { Changes } from './changes.ts'
import type { ClaimLoop } from './claim-loop.ts'
import type { Leased } from './leased.ts'
import type { Life } from './life.ts'
import type { Room } from './room.ts'
import type { Run } from './run.ts'

interface LocalOptions {
  readonly clock: Clock
  readonly life: Readonly<Life>
  readonly leased: Leased
  readonly room: Room
  readonly backlog: Backlog
  readonly loop: ClaimLoop
  readonly changes: Changes
  readonly run: Run
}

export function createLocalDispatch(options: LocalOptions): LocalDispatch {
  const { clock, life, leased, room, backlog, loop, changes, run } = options

  /** A claim may have been turned away for the room that a request held. */
  function roomAgain(): void {
    if (backlog.mayBe) loop.wake()
  }

  /** What was admitted here without a lease is claimed at once, or when what runs of its message is over. */
  function claimRest(events: readonly NewEvent[], admissions: readonly Admission[], claims: readonly Claim[]): void {
    if (admissions.filter(isKept).length === claims.length) return
    const claimed = new Set(claims.map(({ id }) => id))
    for (const [index, event] of events.entries()) {
      if (!isKept(admissions[index]) || claimed.has(event.id) || follows(event)) continue
      if (event.awaits !== 0) backlog.gap(event.gapUntilMs)
      loop.wake()
    }
  }

  /** It has to wait for what is in our hands of its message. */
  function follows({ messageKey }: NewEvent): boolean {
    const work = leased.of(messageKey)
    if (work !== undefined) work.isFollowed = true
    return work !== undefined
  }

  return {
    room(events) {
      const { opened, stopped } = life
      // What waits goes before what comes.
      if (stopped || opened === undefined || backlog.goesFirst) return undefined
      const request = room.ask(opened.store, events.length, leased.messages(events))
      if (request !== undefined) room.hold(request)
      return request
    },
    release(request) {
      room.giveBack(request)
      // Its answer may be lost, and its leases held all the same.
      loop.wakeBy(request.leaseUntilMs)
      roomAgain()
      changes.tell()
    },
    take(events, { admissions, claims }, request) {
      const { opened, stopped, over } = life
      if (opened === undefined) return
      if (request !== undefined) {
        // What comes too late is ours all the same, as with a claim.
        const isOurs = room.giveBack(request) ? !over : !stopped && clock.now() < request.leaseUntilMs
        if (isOurs) run('soon', claims, opened, request.leaseUntilMs)
        if (stopped) changes.tell()
      }
      claimRest(events, admissions, claims)
      if (request !== undefined) roomAgain()
    },
  }
}

function isKept(admission: Admission | undefined): boolean {
  return admission === 'new' || admission === 'late'
}
