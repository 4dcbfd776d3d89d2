/** Forgetting, in every part: what a generation left behind somewhere must go as well. */
import type { ForgottenCounts, OpenStore } from '../../inbox/store.ts'
import type { Parts } from './parts.ts'

export function createForgetting<X extends object>(parts: Parts<X>): Required<Pick<OpenStore<X>, 'forget'>> {
  return {
    /** One part after the other: `after` is the name of the part, and its own. */
    async forget({ after = '', ...request }, nowMs) {
      const [asked = '', ...place] = after.split(' ')
      const at = Math.max(0, parts.names.indexOf(asked))
      const name = parts.names[at] ?? ''
      const from = place.length === 0 ? undefined : place.join(' ')
      const part = await parts.get(name)
      const { next, ...counts } = (await part.forget?.({ ...request, after: from }, nowMs)) ?? NONE
      if (next !== undefined) return { ...counts, next: `${name} ${next}` }
      const following = parts.names[at + 1]
      return following === undefined ? counts : { ...counts, next: following }
    },
  }
}

const NONE: ForgottenCounts = { events: 0, unsettled: 0, deadLetters: 0, states: 0 }
