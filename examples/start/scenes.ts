/** What comes without a send, and what goes wrong on the way. */
import type { Delivery, Emulator, FaultName } from 'messaging-webhooks/emulator'

interface Step {
  /** For the screen: whom it is about, and what it says. */
  readonly id: string
  readonly what: string
  /** What happens to the callback on its way. */
  readonly fault?: FaultName
  readonly run: (emulator: Emulator) => Promise<readonly Delivery[]>
}

const now = Math.floor(Date.now() / 1_000)
const phone = '254711000000'

function report(messageId: string, status: string, what: string, timestamp = now): Step {
  const payload = { project: 'My Shop', messageId, channel: 'sms', status, network: 'carrier-a', timestamp }
  return { id: messageId, what, run: (emulator) => emulator.callback('status', payload) }
}

function premium(word: 'activate' | 'consent' | 'delivery' | 'deactivate'): Step {
  const fields = { phone, keyword: 'NEWS' }
  return { id: phone, what: word, run: (emulator) => emulator.trigger(`subscription.${word}`, fields) }
}

function faulty(messageId: string, fault: FaultName, what: string): Step {
  return { ...report(messageId, 'success', what), fault }
}

export const scenes: readonly { readonly title: string; readonly steps: readonly Step[] }[] = [
  {
    title: 'A customer writes and pays; the payment handler fails once and is tried again',
    steps: [
      {
        id: phone,
        what: 'a text message',
        run: (emulator) => emulator.trigger('received', { from: phone, text: 'Is it still there?' }),
      },
      {
        id: 'pay-1',
        what: 'a mobile-money payment',
        run: (emulator) => emulator.trigger('payment', { id: 'pay-1', amount: 1_250 }),
      },
    ],
  },
  {
    title: 'Premium SMS: the life of a subscription',
    steps: [premium('activate'), premium('consent'), premium('delivery'), premium('deactivate')],
  },
  {
    title: 'An older report after a newer one: dispatched as `late`',
    steps: [report('sms-1', 'success', 'success'), report('sms-1', 'network_failure', 'a minute older', now - 60)],
  },
  {
    title: 'Faults: duplicates run once, and forged callbacks are refused',
    steps: [
      faulty('sms-2', 'duplicate', 'posted twice'),
      faulty('sms-3', 'tamperedByte', 'one byte changed'),
      faulty('sms-4', 'oldKey', 'signed with other keys'),
      faulty('sms-5', 'staleSignature', 'an old signature'),
    ],
  },
  {
    title: 'An authentic callback with an unknown status word: kept, and dispatched as `unrecognized`',
    steps: [report('sms-6', 'left_with_neighbour', 'left_with_neighbour')],
  },
]
