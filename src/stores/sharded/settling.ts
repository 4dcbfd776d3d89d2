/** What becomes of claims, each told to the part that leased it; and of dead letters, to whichever has it. */
import type { OpenStore, SettleFailed, Settlement } from '../../inbox/store.ts'
import { groupedBy, valueOf, type Parts } from './parts.ts'

export function createSettling<X extends object>(
  parts: Parts<X>,
  placesOf: (messageKey: string) => readonly string[],
): Pick<OpenStore<X>, 'settle' | 'resolve'> {
  /** In the parts where the messages stand most likely; where that is not so, a claim of theirs is in the next one. */
  async function settle(
    settlements: readonly Settlement[],
    nowMs: number,
    lazily: boolean | undefined,
    place = 0,
  ): Promise<readonly (boolean | SettleFailed)[]> {
    const results: (boolean | SettleFailed)[] = settlements.map(() => false)
    const elsewhere = new Set<number>()
    const shares = groupedBy(settlements, ({ messageKey }) => placesOf(messageKey)[place] ?? '')
    await parts.each(
      async (part, name) => {
        const indexes = shares.get(name) ?? []
        const share = indexes.flatMap((index) => settlements[index] ?? [])
        const answers = await part.settle(share, nowMs, lazily)
        for (const [at, index] of indexes.entries()) {
          const { messageKey = '' } = share[at] ?? {}
          results[index] = answers[at] ?? false
          if (results[index] === false && placesOf(messageKey).length > place + 1) elsewhere.add(index)
        }
      },
      [...shares.keys()],
    )
    if (elsewhere.size === 0) return results
    const left = [...elsewhere]
    const rest = left.flatMap((index) => settlements[index] ?? [])
    for (const [at, answer] of (await settle(rest, nowMs, lazily, place + 1)).entries()) {
      const index = left[at]
      if (index !== undefined) results[index] = answer
    }
    return results
  }

  return {
    settle: (settlements, nowMs, lazily) => settle(settlements, nowMs, lazily),
    async resolve(id, resolution, nowMs) {
      const results = await Promise.allSettled(
        parts.names.map(async (name) => (await parts.get(name)).resolve(id, resolution, nowMs)),
      )
      // One that has it is enough; that none has it only all of them can say.
      if (results.some((result) => result.status === 'fulfilled' && result.value)) return true
      for (const result of results) valueOf(result)
      return false
    },
  }
}
