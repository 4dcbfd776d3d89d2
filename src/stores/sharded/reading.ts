/** What the parts know: of a message whoever has it, of all else the sum of all. */
import type { JoinedStore, OpenStore } from '../../inbox/store.ts'
import type { Parts } from './parts.ts'

/** Where one is away the sum is not known, so these reject. */
export function createReading<X extends object>(
  parts: Parts<X>,
  homeOf: JoinedStore<X>['homeOf'],
): Required<Pick<OpenStore<X>, 'latest' | 'counts' | 'holders' | 'prune' | 'eraseTraces'>> {
  return {
    async latest(messageKey) {
      return (await parts.get(await homeOf(messageKey))).latest(messageKey)
    },
    async counts() {
      const all = await parts.each((part) => part.counts())
      return all.reduce((sum, { unsettled, deadLetters }) => {
        return { unsettled: sum.unsettled + unsettled, deadLetters: sum.deadLetters + deadLetters }
      })
    },
    async holders() {
      const all = await parts.each(async (part, shard) =>
        ((await part.holders?.()) ?? []).map((holder) => ({ ...holder, id: `${shard}/${holder.id}`, shard })),
      )
      return all.flat()
    },
    async prune(nowMs) {
      const all = await parts.some((part) => part.prune(nowMs))
      return all.reduce((sum, forgotten) => sum + forgotten, 0)
    },
    async eraseTraces() {
      // One after the other: nothing else is done in it meanwhile.
      for (const name of parts.names) await (await parts.get(name)).eraseTraces?.()
    },
  }
}
