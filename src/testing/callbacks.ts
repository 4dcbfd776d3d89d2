/** Valid callback bodies with sensible defaults. Contract, "Events". Every field can be overridden, and others added. */
import { randomUUID } from 'node:crypto'

type Fields = Readonly<Record<string, unknown>>

const PROJECT = 'My Shop'

/** Builders of callback bodies, without the authKey: whoever sends one knows it. */
export const callback = {
  /** Contract, "SMS delivery callback". Default: carrier A, `success`, now. */
  smsDelivery: (fields: Fields = {}): Record<string, unknown> => ({
    project: PROJECT,
    messageId: randomUUID(),
    channel: 'sms',
    status: 'success',
    network: 'carrier-a',
    type: 'bulkDelivery',
    timestamp: Math.floor(Date.now() / 1_000),
    ...fields,
  }),
  /** Contract, "Chat-app delivery callback"; `statuses` is merged. Default: `delivered`. */
  chatApp: ({ statuses = {}, ...fields }: Fields & { readonly statuses?: Fields } = {}): Record<string, unknown> => ({
    project: PROJECT,
    channel: 'chat-app',
    phone_number: '254700000000',
    statuses: {
      recipient: '254711000000',
      message_id: randomUUID(),
      status: 'delivered',
      type: 'status',
      ...(statuses['status'] === 'failed' ? FAILED_FIELDS : successFields()),
      ...statuses,
    },
    ...fields,
  }),
  /** Contract: "not shown". Fields of our own choice. */
  received: (fields: Fields = {}): Record<string, unknown> => ({
    project: PROJECT,
    id: randomUUID(),
    from: '254711000000',
    to: '22384',
    text: 'Hello',
    ...fields,
  }),
  /** Contract: "not shown". Fields of our own choice. */
  payment: (fields: Fields = {}): Record<string, unknown> => ({
    project: PROJECT,
    id: randomUUID(),
    amount: 100,
    currency: 'KES',
    status: 'completed',
    ...fields,
  }),
  /** Contract, "Premium SMS callbacks"; fields not shown. Default: `activate`. */
  subscription: (fields: Fields = {}): Record<string, unknown> => ({
    project: PROJECT,
    event: 'activate',
    phone: '254711000000',
    keyword: 'NEWS',
    ...fields,
  }),
} as const

const FAILED_FIELDS: Fields = { error: 'Re-engagement message: more than 24 hours have passed' }

function successFields(): Fields {
  return {
    conversation_id: randomUUID(),
    expiration_timestamp: String(Math.floor(Date.now() / 1_000) + 86_400),
    category: 'utility',
  }
}
