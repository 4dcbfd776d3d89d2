/** The payloads of the Message Status callback, and of premium delivery reports. Contract, service.md#events. */
import { ROW_BY_WORD } from '../statuses/status-codes.ts'
import type { Message } from './message.ts'
import type { NetworkProfile } from './network.ts'
import { CONVERSATION, REASONS, reportType } from './not-shown.ts'
import type { Outcome } from './outcomes.ts'
import type { ProjectState } from './projects.ts'
import { drawUuid } from './random.ts'
import type { Seed } from './faults/draws.ts'

type Fields = Readonly<Record<string, unknown>>

interface PayloadParts {
  readonly seed: Seed
  readonly network: NetworkProfile
  readonly message: Message
  readonly outcome: Outcome
  readonly project: ProjectState
  /** The status that is reported. */
  readonly word: string
  /** Unix seconds of the change of state. */
  readonly timestamp: number
}

/** What the callback says, without the authKey. */
export function statusPayload(parts: PayloadParts): Fields {
  const { channel } = parts.message
  if (channel === 'chat-app') return chatAppDelivery(parts)
  return channel === 'premium' || channel === 'premium-subscription' ? premiumDelivery(parts) : smsDelivery(parts)
}

/** Contract, service.md#sms-delivery-callback. */
function smsDelivery({ network, message, outcome, project, word, timestamp }: PayloadParts): Fields {
  const row = ROW_BY_WORD.get(word)
  return {
    project: project.name,
    messageId: message.id,
    channel: message.channelName,
    status: word,
    ...(row === undefined ? undefined : { statusCode: String(row.code) }),
    ...(outcome.carrier === 'carrierB' && word !== 'delivered' ? carrierBReason(outcome) : undefined),
    network: network.names[outcome.carrier ?? 'carrierA'],
    type: reportType(message.type),
    timestamp,
  }
}

function carrierBReason({ reason = REASONS.carrierB.description }: Outcome): Fields {
  return { description: reason, status_code: REASONS.carrierB.statusCode }
}

/** Contract, service.md#chat-app-delivery-callback: it carries no timestamp. */
function chatAppDelivery({ seed, message, outcome, project, word, timestamp }: PayloadParts): Fields {
  const conversation = {
    conversation_id: drawUuid(seed, 'conversation', project.name, message.to),
    expiration_timestamp: String(timestamp + CONVERSATION.lifeSeconds),
    category: CONVERSATION.category,
  }
  return {
    project: project.name,
    channel: message.channelName,
    phone_number: project.phoneNumber,
    statuses: {
      recipient: message.to,
      message_id: message.id,
      status: word,
      type: 'status',
      ...(word === 'failed' ? { error: outcome.reason ?? REASONS.chatApp } : conversation),
    },
  }
}

/** Contract, service.md#premium-sms-callbacks, `delivery`; its fields are not shown. */
function premiumDelivery({ message, project, word, timestamp }: PayloadParts): Fields {
  return {
    project: project.name,
    event: 'delivery',
    phone: message.to,
    shortcode: project.shortcode,
    messageId: message.id,
    status: word,
    timestamp,
  }
}
