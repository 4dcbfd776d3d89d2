/**
 * This process as a holder of leases: one for each group of partitions, for a script can ask for it in one slot of a cluster
 * only, and one server of several may be away.
 */
import { withDeadline, type Clock } from '../../clock.ts'
import type { Claim, OpenStore, StoreHost } from '../../inbox/store.ts'
import { createHolding, type Holding } from '../holding.ts'
import { createBeating, type Beating } from './beating.ts'
import type { Engine } from './engine.ts'
import type { Keys } from './partitions.ts'
import { createSweeping, type Sweeping } from './sweeping.ts'

/** Opening waits so long for the first showing of life, and closing until all is given back: a server may be away. */
const BEGIN_MS = 1_000
const LEAVE_MS = 1_500

interface HoldersOptions {
  readonly engine: Engine
  readonly clock: Clock
  /** What tells this process from others of its name. */
  readonly instance: string
  readonly host: StoreHost
  /** Is called when others may have something to do. */
  readonly announce: () => void
}

/** What was leased, and must not be run here. Never rejects: what it does not reach comes again by itself. */
export type GiveBack = (claims: readonly Pick<Claim, 'id' | 'messageKey' | 'token'>[], nowMs: number) => void

export interface Holders {
  /** What leases of these partitions are taken under, if it is for certain known; `dueKey` is one of theirs. */
  sureId(dueKey: string): string | undefined
  /** Asks where it is not; rejects where the server does not answer. */
  sure(dueKey: string): string | Promise<string>
  /** The store says that it does not know this one any more. */
  refuse(dueKey: string, holder: string): void
  /** Whether it is this one still. */
  isOurs(dueKey: string, holder: string): boolean
  readonly isHeld: NonNullable<OpenStore['isHeld']>
  /** Shows life from now on. */
  begin(): Promise<void>
  /** Gives all back. */
  leave(): Promise<void>
}

interface Member {
  readonly holding: Holding
  readonly beating: Beating
  readonly sweeping: Sweeping
}

export function createHolders({ engine, clock, instance, host, announce }: HoldersOptions): Holders {
  const { partitions } = engine
  const members = new Map(partitions.groups.map((keys) => [keys[0], createMember(keys)] as const))
  let hasBegun = false

  function createMember(keys: Keys): Member {
    const home = keys[0]
    const beating = createBeating(engine, home, instance)
    const sweeping = createSweeping(engine, keys, () => {
      host.onWork()
      announce()
    })
    const holding = createHolding({
      clock,
      async beat(beat) {
        hasBegun = true
        const beaten = await beating.beat(beat, holding.isHeld() === true)
        // Where it fails, the next beat goes on with it, or that of another process.
        if (beaten.isSweeping) sweeping.sweep().catch(() => {})
        return beaten
      },
      onLost: () => host.onLost?.((messageKey) => partitions.homeOf(partitions.dueKeyOf(messageKey)) === home),
      onWork: host.onWork,
    })
    return { holding, beating, sweeping }
  }

  function memberOf(dueKey: string): Member {
    const member = members.get(partitions.homeOf(dueKey))
    if (member === undefined) throw new TypeError(`There is no partition ${dueKey}.`)
    return member
  }

  async function leaveGroup({ holding, beating, sweeping }: Member): Promise<void> {
    await holding.stop()
    await beating.leave(holding.id)
    await sweeping.sweep()
  }

  return {
    sureId(dueKey) {
      const { holding } = memberOf(dueKey)
      return holding.isHeld() === true ? holding.id : undefined
    },
    sure(dueKey) {
      const { holding } = memberOf(dueKey)
      return holding.isHeld() === true ? holding.id : holding.sure()
    },
    refuse(dueKey, holder) {
      memberOf(dueKey).holding.refuse(holder)
    },
    isOurs: (dueKey, holder) => memberOf(dueKey).holding.id === holder,
    isHeld: (messageKey) => memberOf(partitions.dueKeyOf(messageKey)).holding.isHeld(),
    async begin() {
      const all = [...members.values()].map(async ({ holding }) => holding.sure())
      await withDeadline(clock, BEGIN_MS, Promise.allSettled(all), () => undefined)
    },
    async leave() {
      if (!hasBegun) return
      // What takes longer waits until we are taken for dead, and what is left of the walk is done by others.
      await withDeadline(clock, LEAVE_MS, Promise.allSettled([...members.values()].map(leaveGroup)), () => undefined)
      for (const { sweeping } of members.values()) sweeping.end()
    },
  }
}
