/** An outage of the store is said once, not at each try: until it has answered, failures are the same outage. */
import type { MessagingWebhooksError } from '../errors.ts'
import type { Absence } from '../inbox/absence.ts'
import { asStoreError } from '../inbox/store-error.ts'

export interface StoreAway {
  failed(error: unknown): void
  answered(): void
}

export function createStoreAway(report: (error: MessagingWebhooksError) => void, absence: Absence): StoreAway {
  let isAway = false
  return {
    failed(error) {
      if (isAway) return
      isAway = true
      report(asStoreError(error))
      absence.begin('dispatch')
    },
    answered() {
      if (!isAway) return
      isAway = false
      absence.end('dispatch')
    },
  }
}
