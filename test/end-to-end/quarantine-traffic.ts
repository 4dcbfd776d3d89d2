/** Traffic for a receiver with the wrong secret: real callbacks, and forgeries that look real. */
import { callback, signCallback } from 'messaging-webhooks/testing'
import { A } from '../support/pairs.ts'

type Request = readonly [body: string, headers: Readonly<Record<string, string>>]

/** Five callbacks of each message: three of a chat-app, two of SMS; those of every other message arrive in reverse order. */
export function realCallbacks(messages = 200): readonly Request[] {
  const now = Math.floor(Date.now() / 1_000)
  return Array.from({ length: messages }, (_, nth) => {
    const chat = ['sent', 'delivered', 'read'].map((status) =>
      callback.chatApp({ statuses: { message_id: `chat ${nth}`, status } }),
    )
    const sms = ['accepted', 'success'].map((status, second) =>
      callback.smsDelivery({ messageId: `sms ${nth}`, status, timestamp: now - 10 + second }),
    )
    const bodies = [...chat, ...sms].map((fields) => JSON.stringify({ ...fields, authKey: A.authKey }))
    return (nth % 2 === 0 ? bodies : bodies.reverse()).map((body, index): Request => {
      // Some are proved by their signature, some by their authKey alone.
      return [body, index === 0 ? {} : { 'x-service-signature': signCallback(body, A.signingSecret) }]
    })
  }).flat()
}

/** Signs again what was signed: a flood may last longer than a signature is valid. */
export function signedNow([body, headers]: Request): Request {
  const isSigned = Object.keys(headers).length > 0
  return [body, isSigned ? { 'x-service-signature': signCallback(body, A.signingSecret) } : headers]
}

export function forgeries(count: number): readonly Request[] {
  return Array.from({ length: count }, (_, nth): Request => {
    const body = JSON.stringify(callback.smsDelivery({ messageId: `forged ${nth}`, authKey: `guess ${nth}` }))
    return [body, { 'x-service-signature': signCallback(body, 'a guess') }]
  })
}

/** Checks that handlers received all callbacks of each message in order. Returns the problems. */
export function problemsOf(handled: readonly (readonly [messageId: string, type: string])[], messages = 200): string[] {
  const byMessage = new Map<string, string[]>()
  for (const [messageId, type] of handled) byMessage.set(messageId, [...(byMessage.get(messageId) ?? []), type])
  const problems: string[] = []
  for (let nth = 0; nth < messages; nth += 1)
    for (const [messageId, expected] of [
      [`chat ${nth}`, 'message.sent,message.delivered,message.read'],
      [`sms ${nth}`, 'message.queued,message.delivered'],
    ] as const) {
      const types = (byMessage.get(messageId) ?? []).join()
      if (types !== expected) problems.push(`${messageId}: ${types}`)
    }
  return problems
}
