/** What the app sends: fifty messages, first to documented numbers, then to a list of customers. */
import type { Emulator } from 'messaging-webhooks/emulator'
import { API_KEY, PROJECT } from './service.ts'

interface Sending {
  readonly what: string
  readonly fields: { readonly to: readonly string[]; readonly channel: string; readonly type: string }
}

const customers = Array.from({ length: 30 }, (_, index) => `2547110000${String(index).padStart(2, '0')}`)

/** The numbers with 999 decide what becomes of a message; the reference of the emulator lists them under "Outcomes". */
export const sendings: readonly Sending[] = [
  {
    what: 'SMS to 12 numbers, a way to end for each',
    fields: {
      channel: 'sms',
      type: 'bulk',
      to: [
        '999100000000', // delivered on carrier A
        '999100001001', // its network fails, for good
        '999100000027', // unreachable
        '999100000021', // cannot be delivered
        '999100009999', // an unknown code
        '999200000000', // delivered on carrier B
        '999200000001', // failed there, with a reason
        '999200000002', // failed there, in its own words
        '999400000015', // acknowledged by the device
        '999400000017', // expired
        '999400000018', // opted out
        '999400000012', // refused at once
      ],
    },
  },
  {
    what: 'a one-time password: the carrier fails twice, the service tries again',
    fields: { channel: 'sms', type: 'transactional', to: ['999110000002'] },
  },
  {
    what: 'chat-app to 7 numbers',
    fields: {
      channel: 'chat-app',
      type: 'bulk',
      to: [
        '999300000000',
        '999300000001',
        '999300000002',
        '999300000003',
        '999300000004',
        '999300000005',
        '999400000011',
      ],
    },
  },
  { what: 'SMS to 30 customers', fields: { channel: 'sms', type: 'bulk', to: customers } },
]

interface Answer {
  readonly recipients: readonly { readonly messageId: string; readonly to: string; readonly status: string }[]
}

/** Sends one of them over HTTP. Returns each message's id with its recipient, and how many got which status. */
export async function send({ fields }: Sending, { url }: Awaited<ReturnType<Emulator['listen']>>) {
  const response = await fetch(`${url}/api/v1/messaging`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', authorization: `Bearer ${API_KEY}` },
    body: JSON.stringify({ project: PROJECT, message: 'Your parcel is on its way.', ...fields }),
  })
  const { recipients } = (await response.json()) as Answer
  const statuses = new Map<string, number>()
  for (const { status } of recipients) statuses.set(status, (statuses.get(status) ?? 0) + 1)
  return { status: response.status, recipients, statuses: [...statuses].map(([word, count]) => `${count} ${word}`) }
}
