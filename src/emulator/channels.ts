/** Which codes each channel has, and the envelopes in which it is answered. Contract, service.md#states-and-transitions, #send-failures. */
import type { StatusCode } from '../events.ts'
import { ROW_BY_CODE } from '../statuses/status-codes.ts'
import type { Channel } from './not-shown.ts'

/** What a refusal is about; the channels put these into envelopes of different forms. */
export type RefusalTopic = 'fields' | 'balance' | 'other'

export interface Refusal {
  readonly topic: RefusalTopic
  /** One word for it, where an envelope has a place for one. */
  readonly word: string
  readonly text: string
  /** For `fields`: what is wrong with each. */
  readonly fields?: Readonly<Record<string, readonly string[]>>
}

type Body = Readonly<Record<string, unknown>>

/** Whether the contract's table lists the code for the channel. Its `Premium` is both of ours. */
export function isListed(code: StatusCode, channel: Channel): boolean {
  const listed = channel === 'premium-subscription' ? 'premium' : channel
  return ROW_BY_CODE.get(code)?.channels.includes(listed) === true
}

/** Contract: the wrapper of airtime answers is `data` instead of `messageData`. */
function wrapper(channel: Channel): 'data' | 'messageData' {
  return channel === 'airtime' ? 'data' : 'messageData'
}

/** Contract, service.md#send-a-message. */
export function successBody(channel: Channel, messages: number, recipients: readonly object[]): Body {
  return { [wrapper(channel)]: { messages }, recipients }
}

/** Contract, service.md#authentication-errors: the string is the same on all channels. */
export function authenticationBody(channel: Channel, message: string): Body {
  return { [wrapper(channel)]: { message } }
}

/** The error envelope of a channel; where it has several forms, the topic decides, which is a choice of ours. */
export function refusalBody(channel: Channel, { topic, word, text, fields = {} }: Refusal): Body {
  if (channel === 'sms') return { messageData: { message: text } }
  if (channel === 'chat-app') {
    if (topic === 'fields') return { message: text, errors: fields }
    return topic === 'balance' ? { MessageData: { Error: text } } : { error: text }
  }
  if (channel === 'airtime')
    return topic === 'balance' ? { data: { message: text } } : { status: word, errorMessage: text }
  return { status: word, description: text }
}
