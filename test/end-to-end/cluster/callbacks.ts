/** What the service sends: the reports of many messages, some of them twice, all out of order. */
import { callback } from 'messaging-webhooks/testing'
import { AUTH_KEY } from './instance.ts'

/** The states of a message on either channel, in order. Chat-app callbacks carry no time, so they wait for one another. */
const CHAT_APP = ['sent', 'delivered', 'read'] as const
const SMS = ['queued', 'expired', 'delivered'] as const

export interface Callback {
  /** `message state`, the name that handlers and the service use. */
  readonly name: string
  readonly body: string
}

/** The position of a state in the lifecycle of its message. */
export function placeOf(messageId: string, state: string): number {
  return (messageId.startsWith('chat') ? CHAT_APP : SMS).findIndex((known) => known === state)
}

/** The distance between the callbacks of a message, in callbacks of other messages. */
const SPREAD = 40
const REPEATED = 0.4
const REPEATED_AGAIN = 0.1

/** This many messages of one to three states each: each callback up to three times, near its position. */
export function shuffledCallbacks(messages: number, prefix = 'm'): readonly Callback[] {
  const nowSeconds = Math.floor(Date.now() / 1_000)
  const placed: { readonly at: number; readonly sent: Callback }[] = []
  for (let message = 0; message < messages; message += 1) {
    const isChatApp = message % 2 === 0
    const messageId = `${isChatApp ? 'chat' : 'sms'}-${prefix}${message}`
    const states = (isChatApp ? CHAT_APP : SMS).slice(0, 1 + Math.floor(Math.random() * 3))
    for (const [index, status] of states.entries()) {
      const report = isChatApp
        ? callback.chatApp({ authKey: AUTH_KEY, statuses: { message_id: messageId, status } })
        : callback.smsDelivery({
            authKey: AUTH_KEY,
            messageId,
            status,
            network: 'carrier-b',
            timestamp: nowSeconds + index,
          })
      const sent = { name: `${messageId} ${status}`, body: JSON.stringify(report) }
      const times = 1 + Number(Math.random() < REPEATED) + Number(Math.random() < REPEATED_AGAIN)
      for (let time = 0; time < times; time += 1) placed.push({ at: 2 * message + Math.random() * SPREAD, sent })
    }
  }
  return placed.toSorted((a, b) => a.at - b.at).map(({ sent }) => sent)
}
