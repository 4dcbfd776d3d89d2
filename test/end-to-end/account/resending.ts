/** Resends temporary failures. Only the sender can tell which message repeats which. */
import type { Receiver } from 'messaging-webhooks'
import { createClient, type ClientOptions } from 'messaging-webhooks/client'

interface Resending {
  /** Maps the id of a message to the id of its repetition, if that has an answer. */
  readonly repetitions: ReadonlyMap<string, string>
  /** Repetitions whose answer does not say what happened to them. */
  readonly failed: readonly { readonly mayBeSent: boolean; readonly recipients: number; readonly sentAt: Date }[]
}

/** The text of a repetition is the id of the original message. It tells the request and its answer apart from others. */
export function resendFailures(receiver: Receiver, options: ClientOptions): Resending {
  const repetitions = new Map<string, string>()
  const failed: { readonly mayBeSent: boolean; readonly recipients: number; readonly sentAt: Date }[] = []
  const { resend } = createClient({
    ...options,
    async fetch(url, init) {
      const sentAt = new Date()
      const { message } = (await new Response(init.body ?? null).json()) as { readonly message: string }
      try {
        const response = await fetch(url, init)
        const { recipients } = (await response.clone().json()) as {
          readonly recipients?: readonly { readonly messageId: string }[]
        }
        for (const { messageId } of recipients ?? []) repetitions.set(message, messageId)
        if (recipients === undefined) failed.push({ mayBeSent: false, recipients: 1, sentAt })
        return response
      } catch (error) {
        failed.push({ mayBeSent: true, recipients: 1, sentAt })
        throw error
      }
    },
  })
  receiver.on('message.failed', resend({ compose: ({ messageId }) => messageId, delayMs: 0 }))
  return { repetitions, failed }
}
