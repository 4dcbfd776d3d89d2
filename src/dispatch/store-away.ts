/** An outage of the store is said once, not at each try: until it has answered, failures are the same outage. */
import type { MessagingWebhooksError } from '../errors.ts'
import { asStoreError } from '../inbox/store-error.ts'

export interface StoreAway {
  failed(error: unknown): void
  answered(): void
}

export function createStoreAway(report: (error: MessagingWebhooksError) => void): StoreAway {
  let isAway = false
  return {
    failed(error) {
      if (!isAway) report(asStoreError(error))
      isAway = true
    },
    answered() {
      isAway = false
    },
  }
}
