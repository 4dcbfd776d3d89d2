/** Valid callback bodies with sensible defaults, of which every field can be replaced. Contract, service.md#events. */
import { randomUUID } from 'node:crypto'
import {
  checkChatAppFields,
  checkObject,
  checkSmsFields,
  type ChatAppFields,
  type Fields,
  type SmsDeliveryFields,
} from './callback-fields.ts'

const PROJECT = 'My Shop'

/** Builders of callback bodies, without the authKey: whoever sends one knows it. Throw an `OptionsError` for a misspelt field. */
export const callback = {
  /** Contract, service.md#sms-delivery-callback. Default: carrier A, `success`, now. */
  smsDelivery(fields: SmsDeliveryFields = {}): Record<string, unknown> {
    checkSmsFields(fields, 'callback.smsDelivery')
    return smsDelivery({ ...fields })
  },
  /** Contract, service.md#chat-app-delivery-callback; `statuses` is merged. Default: `delivered`. */
  chatApp(fields: ChatAppFields = {}): Record<string, unknown> {
    checkChatAppFields(fields, 'callback.chatApp')
    return chatApp({ ...fields, statuses: { ...fields.statuses } })
  },
  /** Contract: "not shown". Fields of our own choice. */
  received(fields: Fields = {}): Record<string, unknown> {
    checkObject(fields, 'callback.received')
    return {
      project: PROJECT,
      id: randomUUID(),
      from: '254711000000',
      to: '22384',
      text: 'Hello',
      ...fields,
    }
  },
  /** Contract: "not shown". Fields of our own choice. */
  payment(fields: Fields = {}): Record<string, unknown> {
    checkObject(fields, 'callback.payment')
    return {
      project: PROJECT,
      id: randomUUID(),
      amount: 100,
      currency: 'KES',
      status: 'completed',
      ...fields,
    }
  },
  /** Contract, service.md#premium-sms-callbacks; fields not shown. Default: `activate`. */
  subscription(fields: Fields = {}): Record<string, unknown> {
    checkObject(fields, 'callback.subscription')
    return {
      project: PROJECT,
      event: 'activate',
      phone: '254711000000',
      keyword: 'NEWS',
      ...fields,
    }
  },
} as const

/** With whatever fields; the names of `callback.smsDelivery`'s are checked. */
export function smsDelivery(fields: Fields): Record<string, unknown> {
  return {
    project: PROJECT,
    messageId: randomUUID(),
    channel: 'sms',
    status: 'success',
    network: 'carrier-a',
    type: 'bulkDelivery',
    timestamp: Math.floor(Date.now() / 1_000),
    ...fields,
  }
}

/** With whatever fields; the names of `callback.chatApp`'s are checked. */
export function chatApp({ statuses, ...fields }: Fields & { readonly statuses: Fields }): Record<string, unknown> {
  return {
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
  }
}

const FAILED_FIELDS: Fields = { error: 'Re-engagement message: more than 24 hours have passed' }

function successFields(): Fields {
  return {
    conversation_id: randomUUID(),
    expiration_timestamp: String(Math.floor(Date.now() / 1_000) + 86_400),
    category: 'utility',
  }
}
