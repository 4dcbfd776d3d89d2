import { MessagingWebhooksError } from '../errors.ts'

/** What a store threw, as an error of ours; the store's own error is its cause. */
export function asStoreError(error: unknown): MessagingWebhooksError {
  if (error instanceof MessagingWebhooksError) return error
  return new MessagingWebhooksError('store_failed', undefined, { cause: error })
}
