import { asOurs, type MessagingWebhooksError } from '../errors.ts'

/** What a store threw, as an error of ours; the store's own error is its cause. */
export function asStoreError(error: unknown): MessagingWebhooksError {
  return asOurs(error, 'store_failed')
}
