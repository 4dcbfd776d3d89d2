/** The events and errors of a receiver that an adapter serves: plain data, so that it may be in another process. */
import type { Receiver } from 'messaging-webhooks'

/** In order of notification. */
export interface Observed {
  readonly errors: readonly { readonly code: string; readonly message: string }[]
  /** The handlers' events: the message, where there is one, and the body's bytes in hex. */
  readonly dispatched: readonly { readonly messageId: string | undefined; readonly raw: string }[]
}

/** Attaches handlers that keep the events and errors. */
export function watched(receiver: Pick<Receiver, 'onAny' | 'onError'>): () => Observed {
  const errors: { code: string; message: string }[] = []
  const dispatched: { messageId: string | undefined; raw: string }[] = []
  receiver.onError(({ code, message }) => void errors.push({ code, message }))
  receiver.onAny((event) => {
    const messageId = 'messageId' in event ? event.messageId : undefined
    dispatched.push({ messageId, raw: event.raw.toString('hex') })
  })
  return () => ({ errors: [...errors], dispatched: [...dispatched] })
}
