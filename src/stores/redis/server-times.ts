/** Whose clock counts. */
import { createStoreClock, type StoreClock } from '../../inbox/runtime/store-time.ts'

export type ServerTimes = ReturnType<typeof createServerTimes>

/**
 * The store's time where the servers' clocks count. Each server of a cluster has a clock of its own; the time of all records is that of
 * the first server, and what a script compares with its server's clock is translated. A process that did not hear the first server yet
 * goes by another one: its time jumps by the difference of their clocks later, which the guide says. To keep each record in its own
 * server's time, every time in it would have to be translated by an estimate with each reading and each writing.
 */
export function createServerTimes() {
  const clocks = new Map<number, StoreClock>()
  /** Of the groups that were heard, the first. */
  let referenceGroup = Infinity
  const reference = (): StoreClock | undefined => clocks.get(referenceGroup)

  return {
    /** The time of the store. */
    nowMs: () => reference()?.nowMs() ?? Number.NEGATIVE_INFINITY,
    /** A time of the store by the clock of a group's server; undefined until that was heard. */
    toServer(group: number, storeMs: number): number | undefined {
      const [own, first] = [clocks.get(group), reference()]
      return own === undefined || first === undefined ? undefined : storeMs + own.nowMs() - first.nowMs()
    },
    /** The server of a group said that it was so late, in an answer to what was sent then (by `monotonicMs`). */
    heard(group: number, serverMs: number, sentMs: number): void {
      const clock = clocks.get(group) ?? createStoreClock()
      clocks.set(group, clock)
      referenceGroup = Math.min(referenceGroup, group)
      clock.heard(serverMs, sentMs)
    },
  }
}
