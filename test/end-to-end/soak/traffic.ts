/** What customers of the service would do: messages over every channel, to numbers of every fate, and what customers send. */
import { OUTCOMES, TRIGGER_NAMES, type Emulator } from 'messaging-webhooks/emulator'
import { expect } from 'vitest'

const RECIPIENTS_A_SEND = 50
/** One of so many messages brings a callback that no send leads to. */
const MESSAGES_A_TRIGGER = 20

/** Of ten sends five are SMS, three by chat-app, one premium and one airtime. */
const CHANNELS = ['sms', 'chat-app', 'sms', 'premium', 'sms', 'chat-app', 'sms', 'airtime', 'sms', 'chat-app'] as const

/** Plays so many messages at a call, and what customers do meanwhile. The same calls lead to the same callbacks. */
export function createTraffic(emulator: Emulator, url: string): { play(messages: number): Promise<void> } {
  let sends = 0
  let triggers = 0

  async function send(recipients: number): Promise<void> {
    const channel = CHANNELS[sends % CHANNELS.length] ?? 'sms'
    const answer = await fetch(`${url}/api/v1/messaging`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', authorization: `Bearer ${emulator.keys().apiKey}` },
      body: JSON.stringify({
        project: 'My Shop',
        channel,
        to: Array.from({ length: recipients }, (_, nth) => numberFor(channel, sends, nth)),
        ...(channel === 'airtime' ? { amount: 1 } : { message: 'Your order is on its way.' }),
      }),
    })
    expect(answer.status).toBe(200)
    sends += 1
    for (let due = recipients; due > 0; due -= MESSAGES_A_TRIGGER) {
      const name = TRIGGER_NAMES[triggers % TRIGGER_NAMES.length] ?? 'payment'
      triggers += 1
      // A name of its own makes each one an event of its own.
      void emulator.trigger(name, { reference: `trigger ${triggers}` })
    }
  }

  return {
    async play(messages) {
      for (let left = messages; left > 0; left -= RECIPIENTS_A_SEND) await send(Math.min(left, RECIPIENTS_A_SEND))
    },
  }
}

/** Half of them are documented numbers, whose reports are of every kind that the contract knows. */
function numberFor(channel: string, send: number, nth: number): string {
  const documented = OUTCOMES.filter(
    ({ channels, reports }) => channels.some((one) => one === channel) && reports.length > 0,
  )
  const outcome = nth % 2 === 0 ? documented[(send + nth) % documented.length] : undefined
  return outcome?.number ?? `2547${String(send).padStart(5, '0')}${String(nth).padStart(3, '0')}`
}
