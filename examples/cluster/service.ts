/** Plays the service, and a load balancer: three reports a message, a third of them twice, none of them in their place. */
import { callback, signCallback } from 'messaging-webhooks/testing'

const STATES = ['sent', 'delivered', 'read'] as const
const CLIENTS = 8
/** How far a callback may be from its place. */
const SPREAD = 12

/** Sends what was not answered once more, to another. Resolves to what was sent in all, and to what was answered 204. */
export async function sendAll(options: {
  readonly messages: number
  readonly secret: string
  readonly urls: () => readonly string[]
  readonly halfWay: () => Promise<void>
}): Promise<{ readonly sent: number; readonly events: ReadonlySet<string> }> {
  const { messages, secret, urls, halfWay } = options
  const events = new Set<string>()
  const callbacks = Array.from({ length: messages }, (_, index) =>
    STATES.flatMap((status) => {
      const name = `m-${index} message.${status}`
      const body = JSON.stringify(callback.chatApp({ statuses: { message_id: `m-${index}`, status } }))
      const once = { name, body, at: 3 * index + Math.random() * SPREAD }
      return Math.random() < 1 / 3 ? [once, { ...once, at: once.at + Math.random() * SPREAD }] : [once]
    }),
  )
  const waiting = callbacks.flat().toSorted((a, b) => b.at - a.at)
  const half = waiting.length / 2
  let sent = 0
  let replacing: Promise<void> | undefined

  async function client(): Promise<void> {
    for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
      if (waiting.length < half) replacing ??= halfWay()
      const url = urls()[Math.floor(Math.random() * urls().length)] ?? ''
      const headers = { 'x-service-signature': signCallback(next.body, secret) }
      sent += 1
      const answer = await fetch(url, { method: 'POST', headers, body: next.body }).catch(() => undefined)
      if (answer?.status === 204) events.add(next.name)
      else waiting.push(next)
    }
  }

  await Promise.all(Array.from({ length: CLIENTS }, client))
  await replacing
  return { sent, events }
}
