/** A store that tells of each repetition: a receiver answers it 204 and hands it to nobody, and who looks on wants to know. */
import type { Awaitable, NewEvent, Store } from '../inbox/store.ts'

/** The same store in all else. */
export function hearDuplicates(store: Store, onDuplicate: (event: NewEvent) => Awaitable<void>): Store {
  return {
    // Without `admitAndClaim` all comes by `admit`.
    capabilities: { ...store.capabilities, admitsAndClaims: false },
    async open(host) {
      const { admitAndClaim: _, ...opened } = await store.open(host)
      return {
        ...opened,
        async admit(events, nowMs) {
          const admissions = await opened.admit(events, nowMs)
          for (const [index, event] of events.entries()) if (admissions[index] === 'duplicate') await onDuplicate(event)
          return admissions
        },
      }
    },
  }
}
