/** What failed for now is sent again; which message repeats which, only whoever sends can tell. */
import type { Receiver } from 'messaging-webhooks'
import { resend, SendError, type Client } from 'messaging-webhooks/client'

interface Resending {
  /** From the id of a message to that of its repetition, where that has an answer. */
  readonly repetitions: ReadonlyMap<string, string>
  /** Repetitions without an answer. */
  readonly failed: readonly SendError[]
}

export function resendFailures(receiver: Receiver, client: Client): Resending {
  const repetitions = new Map<string, string>()
  const failed: SendError[] = []
  const witness: Client = {
    ...client,
    async send(message, options) {
      try {
        const sent = await client.send(message, options)
        for (const { messageId } of sent.messages) repetitions.set(message.message, messageId)
        return sent
      } catch (error) {
        if (error instanceof SendError) failed.push(error)
        throw error
      }
    },
  }
  receiver.on('message.failed', resend(receiver, witness, { text: ({ messageId }) => messageId }))
  return { repetitions, failed }
}
