/** The sending service: an emulator, some of whose callbacks come twice or out of their order. */
import { setTimeout as sleep } from 'node:timers/promises'
import { createEmulator, type Delivery } from 'messaging-webhooks/emulator'

const RECIPIENTS_A_SEND = 50
const STARVED_MS = 120_000 // do not give up on a busy machine

export async function startService(callbackUrl: string, signingSecret: string) {
  const emulator = createEmulator({
    projects: [{ name: 'My Shop', apiKey: 'api-key', signingSecret, callbackUrls: { status: callbackUrl } }],
    // Each message is sent, delivered and read: three callbacks, and a third of them twice.
    network: { permanentShare: 0, readShare: 1, delayMs: [20, 400] },
    faults: { duplicate: 1 / 3, reorder: 1 / 3 },
    callbackTimeoutMs: STARVED_MS,
  })
  const { url } = await emulator.listen()
  let recipients = 0

  /** What the app does all day: POST to the service. The callbacks come of themselves. */
  async function send(messages: number): Promise<void> {
    for (let left = messages; left > 0; left -= RECIPIENTS_A_SEND) {
      const to = Array.from({ length: Math.min(left, RECIPIENTS_A_SEND) }, () => String(254_700_000_000 + recipients++))
      const answer = await fetch(`${url}/api/v1/messaging`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', authorization: 'Bearer api-key' },
        body: JSON.stringify({ project: 'My Shop', channel: 'chat-app', to, message: 'Your parcel is on its way.' }),
      })
      if (!answer.ok) throw new Error(`The service answered ${answer.status}.`)
    }
  }

  return {
    send,
    /** Until so many callbacks were answered 204. */
    async untilAccepted(callbacks: number): Promise<void> {
      while (emulator.report().callbacks.accepted < callbacks) await sleep(10)
    },
    /** Until every message was read, or the service got no answer for too long. */
    untilIdle: () => emulator.idle({ deadlineMs: STARVED_MS }),
    report: () => emulator.report().callbacks,
    /** What was answered 204, each event once. */
    events: () =>
      new Set(
        emulator
          .deliveries()
          .filter((one) => one.status === 204)
          .map(nameOf),
      ),
    close: () => emulator.close(),
  }
}

function nameOf({ payload }: Delivery): string {
  const { message_id, status } = payload['statuses'] as { message_id: string; status: string } // a chat-app report
  return `${message_id} message.${status}`
}
